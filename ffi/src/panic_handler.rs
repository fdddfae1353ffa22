//! Who is called by a panic: nobody, since there is none.

#[cfg(feature = "proof")]
unsafe extern "C" {
    /// Defined nowhere: it is the name that the linker complains about.
    safe fn evenkeel_can_panic() -> !;
}

#[panic_handler]
fn panic(_: &core::panic::PanicInfo<'_>) -> ! {
    #[cfg(feature = "proof")]
    evenkeel_can_panic();
    #[cfg(not(feature = "proof"))]
    loop {}
}
