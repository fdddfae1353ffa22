//! Which release this is.

/// Version of this header: 0xMMmmpp for major, minor, patch.
pub const EK_VERSION: u32 = 0x00_01_00;

/// Number of the ABI that this header speaks: the one in the soname. Within one number, a program that was
/// compiled with an older header works with a newer library.
pub const EK_ABI: u32 = 0;

/// Version of the library: what EK_VERSION was when it was made.
#[unsafe(no_mangle)]
pub extern "C" fn ek_version() -> u32 {
    EK_VERSION
}

/// Number of the ABI of the library. Another number than EK_ABI: do not go on.
#[unsafe(no_mangle)]
pub extern "C" fn ek_abi() -> u32 {
    EK_ABI
}
