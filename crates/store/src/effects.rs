//! What a machine wishes to happen, before and after its writes are on disk.
//! Spec: §7 "Group commit"

/// Wishes of an open transaction, in order. Nothing can be sent from here.
#[derive(Debug)]
pub struct Effects<T> {
    list: Vec<T>,
}

impl<T> Effects<T> {
    /// No wishes.
    #[must_use]
    pub fn new() -> Self {
        Self { list: Vec::new() }
    }

    /// Adds one wish after those before it.
    pub fn push(&mut self, effect: T) {
        self.list.push(effect);
    }

    /// How many wishes there are.
    #[must_use]
    pub fn len(&self) -> usize {
        self.list.len()
    }

    /// Whether there is none.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.list.is_empty()
    }

    pub(crate) fn truncate(&mut self, len: usize) {
        self.list.truncate(len);
    }

    pub(crate) fn split_off(&mut self, at: usize) -> Vec<T> {
        self.list.split_off(at)
    }

    pub(crate) fn release(self) -> Released<T> {
        Released { list: self.list }
    }
}

impl<T> Default for Effects<T> {
    fn default() -> Self {
        Self::new()
    }
}

impl<T> Extend<T> for Effects<T> {
    fn extend<I: IntoIterator<Item = T>>(&mut self, effects: I) {
        self.list.extend(effects);
    }
}

/// Wishes whose writes are on disk. Only a [`Loop`](crate::Loop) makes them, after its commit; shells act on nothing else.
///
/// A caller cannot make one:
/// ```compile_fail
/// let early = messaging_store::Effects::<u8>::new().release();
/// ```
#[derive(Debug)]
#[must_use = "what was promised must be carried out"]
pub struct Released<T> {
    list: Vec<T>,
}

impl<T> Released<T> {
    /// How many there are.
    #[must_use]
    pub fn len(&self) -> usize {
        self.list.len()
    }

    /// Whether there is none.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.list.is_empty()
    }
}

impl<T> IntoIterator for Released<T> {
    type Item = T;
    type IntoIter = std::vec::IntoIter<T>;

    fn into_iter(self) -> Self::IntoIter {
        self.list.into_iter()
    }
}
