//! Runs both ways round on a GPU, and compares every element.

use std::error::Error;

use beside_cudarc::host::Both;

fn main() -> Result<(), Box<dyn Error>> {
    let both = Both::open(0)?;
    println!(
        "{}, one context: {}",
        both.device.properties().name,
        both.share_a_context()
    );
    if !both.share_a_context() {
        return Err("the libraries have different contexts".into());
    }
    for len in [1, 255, 256, 257, 100_003, 1 << 24] {
        // Small integers, of which sums are exact.
        let x: Vec<f32> = (0..len).map(|i| (i % 1_021) as f32).collect();
        let y: Vec<f32> = (0..len).map(|i| (i % 13) as f32).collect();
        let right: Vec<f32> = x.iter().zip(&y).map(|(x, y)| 20.0 * 3.0 * x + y).collect();
        let scaled: Vec<f32> = x.iter().map(|x| 3.0 * x).collect();
        let ours = both.ours_in_theirs(3.0, &x, &y, 20)? == right;
        let theirs = both.theirs_in_ours(3.0, &x)? == scaled;
        println!(
            "{len:>9} elements: 20 launches in cudarc's stream {ours}, cudarc's copy in ours {theirs}"
        );
        if !(ours && theirs) {
            return Err("wrong results".into());
        }
    }
    println!("beside cudarc: pass");
    Ok(())
}
