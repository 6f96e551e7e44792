//! What a simulated service is: a JSON object, described in `contracts/load/README.md`.

use crate::faults::Fault;
use crate::times::Times;
use serde::Deserialize;
use std::fmt;

/// Why a model is refused: where, and the mistake, in a sentence.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ModelError {
    /// The path in the model, such as `faults[0]`; empty for the whole.
    pub path: String,
    /// What is wrong.
    pub message: String,
}

impl fmt::Display for ModelError {
    fn fmt(&self, to: &mut fmt::Formatter<'_>) -> fmt::Result {
        let path = if self.path.is_empty() {
            "the model"
        } else {
            &self.path
        };
        write!(to, "{path}: {}", self.message)
    }
}

/// A service behind a network, and the faults of a round.
#[derive(Debug, Clone, PartialEq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Model {
    /// The version of this form: 1.
    pub model: u32,
    /// What random numbers are drawn from.
    #[serde(default)]
    pub seed: u64,
    /// How long a message is on its way, each way.
    #[serde(default)]
    pub network_us: i64,
    /// The service.
    pub service: ServiceModel,
    /// What happens to it.
    #[serde(default)]
    pub faults: Vec<Fault>,
}

/// A service: workers that take requests from one queue.
#[derive(Debug, Clone, PartialEq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct ServiceModel {
    /// How many requests it works on at a time.
    pub workers: usize,
    /// How long it works on one that has it for itself.
    pub times: Times,
    /// How much longer it works on several at a time: pairs of their number and a factor, linear in between.
    #[serde(default)]
    pub slowdown: Vec<(f64, f64)>,
    /// Where requests wait.
    #[serde(default)]
    pub queue: QueueModel,
}

/// Where requests wait for a worker.
#[derive(Debug, Clone, PartialEq, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct QueueModel {
    /// How many may wait; one more is answered with `full_status` at once. None is without bound.
    pub limit: Option<usize>,
    /// Who comes next.
    pub order: Order,
    /// The status of an answer for which there was no room.
    pub full_status: u16,
    /// A request that has waited longer is answered with `full_status` instead of being worked on.
    pub deadline_us: Option<i64>,
}

impl Default for QueueModel {
    fn default() -> Self {
        Self {
            limit: None,
            order: Order::Fifo,
            full_status: 503,
            deadline_us: None,
        }
    }
}

/// The order in which a queue is worked off.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Order {
    /// Who came first.
    Fifo,
    /// Who came last.
    Lifo,
}

impl Model {
    /// Reads a model.
    ///
    /// # Errors
    /// When the text describes no service.
    pub fn parse(text: &str) -> Result<Self, ModelError> {
        let model: Self = serde_json::from_str(text).map_err(|error| problem("", &error.to_string()))?;
        model.check().map(|()| model)
    }

    fn check(&self) -> Result<(), ModelError> {
        let service = &self.service;
        if self.model != 1 {
            return Err(problem("model", &format!("version {}; allowed: 1", self.model)));
        }
        if self.network_us < 0 {
            return Err(problem("network_us", "is negative; allowed: 0 or more"));
        }
        if service.workers == 0 {
            return Err(problem("service.workers", "none; allowed: 1 or more"));
        }
        if service.queue.deadline_us.is_some_and(|us| us < 0) {
            return Err(problem(
                "service.queue.deadline_us",
                "is negative; allowed: 0 or more",
            ));
        }
        if let Some(message) = service.times.mistake() {
            return Err(problem("service.times", &message));
        }
        if let Some(message) = mistake_of_slowdown(&service.slowdown) {
            return Err(problem("service.slowdown", &message));
        }
        let wrong = self.faults.iter().map(Fault::mistake).enumerate();
        for (number, message) in wrong {
            if let Some(message) = message {
                return Err(problem(&format!("faults[{number}]"), &message));
            }
        }
        Ok(())
    }
}

fn mistake_of_slowdown(points: &[(f64, f64)]) -> Option<String> {
    let rises = points.windows(2).all(|pair| pair[1].0 > pair[0].0);
    if !rises {
        return Some("numbers of requests rise from pair to pair".to_owned());
    }
    points
        .iter()
        .find(|(_, factor)| !factor.is_finite() || *factor <= 0.0)
        .map(|(_, factor)| format!("a factor of {factor}; allowed: above 0"))
}

fn problem(path: &str, message: &str) -> ModelError {
    ModelError {
        path: path.to_owned(),
        message: message.to_owned(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const PLAIN: &str = r#"{"model": 1, "service": {"workers": 2, "times": {"fixed_us": 10}}}"#;

    fn refused(from: &str, to: &str) -> String {
        Model::parse(&PLAIN.replace(from, to))
            .expect_err("it is wrong")
            .to_string()
    }

    #[test]
    fn a_model_is_read_with_its_defaults() {
        let model = Model::parse(PLAIN).expect("it is right");
        assert_eq!(
            (model.service.queue.limit, model.service.queue.order),
            (None, Order::Fifo)
        );
        assert_eq!(model.faults, []);
    }

    #[test]
    fn what_is_wrong_is_said_with_its_place() {
        assert_eq!(
            refused("\"workers\": 2", "\"workers\": 0"),
            "service.workers: none; allowed: 1 or more"
        );
        assert_eq!(
            refused("\"model\": 1", "\"model\": 2"),
            "model: version 2; allowed: 1"
        );
        assert!(
            refused("\"fixed_us\": 10", "\"fixed_us\": -1").starts_with("service.times: a time of -1 us")
        );
        assert!(refused("\"workers\": 2", "\"wrokers\": 2").contains("unknown field `wrokers`"));
        assert!(
            refused("}}}", "}, \"slowdown\": [[2, 1], [1, 2]]}}").starts_with("service.slowdown: numbers")
        );
        assert!(refused("}}}", "}, \"slowdown\": [[1, 0]]}}").contains("a factor of 0"));
        let fault = r#"}}, "faults": [{"kind": {"freeze": {}}, "from_us": 2, "to_us": 1}]}"#;
        assert!(refused("}}}", fault).starts_with("faults[0]: ends at 1 us"));
        assert!(
            refused("\"service\"", "\"network_us\": -1, \"service\"").starts_with("network_us: is negative")
        );
        assert!(Model::parse("[").is_err());
    }
}
