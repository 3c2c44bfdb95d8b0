//! Failures on demand: which writes and commits of a run fail, and how.
//! Spec: §7 "Store failures"

use crate::error::StoreError;

/// How a chosen step fails.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum How {
    /// Nothing was written.
    Lost,
    /// It was written, and the caller hears that it was not.
    AppliedButReportedLost,
    /// Nothing was written, and the whole transaction ended with it, as a full disk can do.
    EndsTransaction,
}

/// The steps `from <= step < until` fail with `error`. A step is one write statement or one commit of a transaction that
/// wrote, counted from 0 since the plan was set.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Fault {
    /// The first step that fails.
    pub from: u64,
    /// The first step that works again.
    pub until: u64,
    /// How they fail.
    pub how: How,
    /// What the caller hears.
    pub error: StoreError,
}

/// Which steps fail. The plain value, [`FaultPlan::none`], fails none and costs one comparison a step.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct FaultPlan {
    faults: Vec<Fault>,
}

impl FaultPlan {
    /// Nothing fails.
    #[must_use]
    pub fn none() -> Self {
        Self::default()
    }

    /// One step fails: the `step`th, counted from 0.
    #[must_use]
    pub fn nth(step: u64, how: How, error: StoreError) -> Self {
        Self::none().and(Fault { from: step, until: step.saturating_add(1), how, error })
    }

    /// Every step fails from now on, as on a full disk.
    #[must_use]
    pub fn always(error: StoreError) -> Self {
        Self::none().and(Fault { from: 0, until: u64::MAX, how: How::Lost, error })
    }

    /// This plan and one fault more; of two that cover a step the first one added counts.
    #[must_use]
    pub fn and(mut self, fault: Fault) -> Self {
        self.faults.push(fault);
        self
    }

    /// What happens at `step`.
    pub(crate) fn at(&self, step: u64) -> Option<(How, StoreError)> {
        self.faults
            .iter()
            .find(|fault| fault.from <= step && step < fault.until)
            .map(|fault| (fault.how, fault.error))
    }
}
