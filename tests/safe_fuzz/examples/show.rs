fn main(){ let a: Vec<u64>=std::env::args().skip(1).map(|x|x.parse().unwrap()).collect(); println!("{}", safe_fuzz::Kernel::new(a[0], a[1] as usize).source(safe_fuzz::Style::Safe)); }
