//! The runtime of a program without a C library: an allocator, a panic handler and the memory
//! functions that the compiler calls for copies and comparisons. `unsafe` is allowed only in this
//! module: none of the three can be written without it.

use core::alloc::{GlobalAlloc, Layout};
use core::panic::PanicInfo;
use core::ptr;
use core::sync::atomic::{AtomicUsize, Ordering};

const HEAP_BYTES: usize = 1 << 20;

/// An allocator that hands out the heap from front to back and never frees.
struct Bump {
    heap: core::cell::UnsafeCell<[u8; HEAP_BYTES]>,
    used: AtomicUsize,
}

// SAFETY: two calls never get the same bytes, as `used` moves on in one atomic step.
unsafe impl Sync for Bump {}

// SAFETY: the bytes handed out lie inside `heap`, are aligned, and are never handed out twice.
unsafe impl GlobalAlloc for Bump {
    unsafe fn alloc(&self, layout: Layout) -> *mut u8 {
        // Room for the worst alignment as well: this heap need not be thrifty.
        let taken = layout.size() + layout.align();
        let start = self.used.fetch_add(taken, Ordering::Relaxed);
        if start + taken > HEAP_BYTES {
            return ptr::null_mut();
        }
        let first = self.heap.get().cast::<u8>().wrapping_add(start);
        first.wrapping_add(first.align_offset(layout.align()))
    }

    unsafe fn dealloc(&self, _block: *mut u8, _layout: Layout) {}
}

#[global_allocator]
static HEAP: Bump =
    Bump { heap: core::cell::UnsafeCell::new([0; HEAP_BYTES]), used: AtomicUsize::new(0) };

#[panic_handler]
fn panic(_info: &PanicInfo<'_>) -> ! {
    loop {
        core::hint::spin_loop();
    }
}

// The precompiled `alloc` refers to the next two functions for unwinding. This program never
// unwinds.

/// A stub for the personality function of Rust's unwinder.
// SAFETY: no other symbol of this program bears the name.
#[unsafe(no_mangle)]
pub extern "C" fn rust_eh_personality() {}

/// A stub for the function by which the unwinder resumes.
// SAFETY: no other symbol of this program bears the name.
#[unsafe(no_mangle)]
pub extern "C" fn _Unwind_Resume() -> ! {
    loop {
        core::hint::spin_loop();
    }
}

// The accesses below are volatile: else the compiler would turn each loop into a call of the
// function that contains it.

/// # Safety
/// As memcpy of C.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn memcpy(to: *mut u8, from: *const u8, bytes: usize) -> *mut u8 {
    for i in 0..bytes {
        // SAFETY: the caller promises `bytes` bytes at both.
        unsafe { to.add(i).write_volatile(from.add(i).read()) };
    }
    to
}

/// # Safety
/// As memmove of C.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn memmove(to: *mut u8, from: *const u8, bytes: usize) -> *mut u8 {
    if to.cast_const() <= from {
        // SAFETY: the caller's promise is the same, and front to back suits this overlap.
        return unsafe { memcpy(to, from, bytes) };
    }
    for i in (0..bytes).rev() {
        // SAFETY: the caller promises `bytes` bytes at both.
        unsafe { to.add(i).write_volatile(from.add(i).read()) };
    }
    to
}

/// # Safety
/// As memset of C.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn memset(to: *mut u8, value: i32, bytes: usize) -> *mut u8 {
    for i in 0..bytes {
        // SAFETY: the caller promises `bytes` bytes.
        unsafe { to.add(i).write_volatile(value as u8) };
    }
    to
}

/// # Safety
/// As memcmp of C.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn memcmp(left: *const u8, right: *const u8, bytes: usize) -> i32 {
    for i in 0..bytes {
        // SAFETY: the caller promises `bytes` bytes at both.
        let (l, r) = unsafe { (left.add(i).read_volatile(), right.add(i).read_volatile()) };
        if l != r {
            return i32::from(l) - i32::from(r);
        }
    }
    0
}

/// # Safety
/// As bcmp of C.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn bcmp(left: *const u8, right: *const u8, bytes: usize) -> i32 {
    // SAFETY: the caller's promise is the same.
    unsafe { memcmp(left, right, bytes) }
}

/// # Safety
/// As strlen of C.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn strlen(text: *const u8) -> usize {
    let mut length = 0;
    // SAFETY: the caller promises a zero byte at the end.
    while unsafe { text.add(length).read_volatile() } != 0 {
        length += 1;
    }
    length
}
