//! The second door: the agent's recording and its lines for programs.

use evenkeel_tests::scenario::Scenario;

use crate::Told;

/// Tells a scenario to the agent; what it printed.
pub(crate) fn tell(scenario: &Scenario) -> Result<Told, String> {
    crate::through_core::tell(scenario)
}
