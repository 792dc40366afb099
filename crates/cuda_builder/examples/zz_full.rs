fn main() {
    let args: Vec<String> = std::env::args().collect();
    let mut b = cuda_builder::CudaBuilder::new(&args[1]).debug(cuda_builder::DebugInfo::Full).copy_to(&args[2]);
    if args.get(3).is_some() { b = b.release(false); }
    println!("{:?}", b.build());
}
