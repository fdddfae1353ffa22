//! A short list on the stack, for the time of one call.

/// At most `N` items.
pub(super) struct List<T, const N: usize> {
    items: [T; N],
    used: usize,
}

impl<T: Copy, const N: usize> List<T, N> {
    pub(super) const fn of(filler: T) -> Self {
        Self { items: [filler; N], used: 0 }
    }

    /// `None` if there is no room.
    pub(super) fn push(&mut self, item: T) -> Option<()> {
        *self.items.get_mut(self.used)? = item;
        self.used = self.used.saturating_add(1);
        Some(())
    }

    pub(super) fn get(&self) -> &[T] {
        self.items.get(..self.used).unwrap_or(&[])
    }

    pub(super) fn get_mut(&mut self) -> &mut [T] {
        self.items.get_mut(..self.used).unwrap_or_default()
    }
}
