//! One source, two compilations: portable, and for x86 machines with AVX2 and FMA, chosen at run time.
//!
//! Kernels are plain loops over fixed-size arrays that the compiler turns into vector instructions. Both
//! compilations perform the same operations in the same order (Rust never contracts `a * b + c` by itself; where a
//! fused operation is wanted the source says `mul_add`), so a result has the same bits on every machine.

/// Whether this machine runs the wide compilation: every feature that the wide functions enable is there.
#[cfg(target_arch = "x86_64")]
#[inline(always)]
pub fn is_wide() -> bool {
    use std::arch::is_x86_feature_detected as detected;
    // Each answer is a cached bit; a hypervisor may hide any one of them.
    detected!("avx2") && detected!("fma") && detected!("popcnt")
}

/// Defines a function twice, portable and wide, and dispatches between the two.
#[macro_export]
macro_rules! two_widths {
    ($(#[$attribute:meta])* $visibility:vis fn $name:ident($($argument:ident: $kind:ty),* $(,)?) $(-> $result:ty)? $body:block) => {
        $(#[$attribute])*
        #[inline]
        #[allow(clippy::too_many_arguments)]
        $visibility fn $name($($argument: $kind),*) $(-> $result)? {
            #[inline(always)]
            #[allow(clippy::too_many_arguments)]
            fn portable($($argument: $kind),*) $(-> $result)? $body

            #[cfg(target_arch = "x86_64")]
            {
                #[target_feature(enable = "avx2,fma,popcnt")]
                #[allow(clippy::too_many_arguments)]
                fn wide($($argument: $kind),*) $(-> $result)? {
                    portable($($argument),*)
                }
                if $crate::simd::is_wide() {
                    // SAFETY: the processor has AVX2, FMA and POPCNT, as just checked.
                    return unsafe { wide($($argument),*) };
                }
            }
            portable($($argument),*)
        }
    };
}
pub use two_widths;
