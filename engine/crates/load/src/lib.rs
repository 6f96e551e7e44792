//! Drives the workloads of a job: virtual users, arrivals, journeys and client policies.
