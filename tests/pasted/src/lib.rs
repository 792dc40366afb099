//! Every block of Rust code of README and of the book, as a reader pastes it into a project: one
//! module for each page. The build script writes them, and embeds their kernels; what README tests
//! is tested here.

#![cfg_attr(target_arch = "nvptx64", no_std)]

cuda_std::embedded_kernels!();

// In the build for the device, which is without the script, this is a variable of the environment.
include!(env!("PASTED_PAGES"));

#[cfg(test)]
mod from_cuda_cpp;
#[cfg(test)]
mod on_cust;
#[cfg(test)]
mod types_of_kernels;

#[cfg(test)]
mod tests {
    const PAGES: &str = include_str!(env!("PASTED_PAGES"));

    /// Nothing is left out silently.
    #[test]
    fn most_pages_have_code() {
        let modules = PAGES.matches("\npub mod ").count();
        let kernels = PAGES.matches("#[kernel").count();
        assert!(
            modules >= 13 && kernels >= 14,
            "{modules} modules, {kernels} kernels"
        );
        assert!(PAGES.contains("\npub mod readme {"));
    }
}
