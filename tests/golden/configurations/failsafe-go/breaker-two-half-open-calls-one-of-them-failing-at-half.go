// circuit_breaker.failure_rate 50: not expressible (it opens at a number of failures among the last calls, even before its window is full)
// circuit_breaker.window.calls 2: not expressible (it opens at a number of failures among the last calls, even before its window is full)
// circuit_breaker.minimum_calls 2: not expressible (it opens at a number of failures among the last calls, even before its window is full)
// circuit_breaker.open_for 20ms: not expressible (it opens at a number of failures among the last calls, even before its window is full)
// circuit_breaker.half_open_calls 2: not expressible (it opens at a number of failures among the last calls, even before its window is full)
// circuit_breaker.scope client: not expressible (it opens at a number of failures among the last calls, even before its window is full)

