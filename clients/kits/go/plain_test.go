package kit

import (
	"context"
	"sync/atomic"
)

// plain has policies without a library: a retry that never waits, and a breaker that lets two calls in.
type plain struct{}

func (plain) Description() Description {
	return Description{
		Name: "plain", Library: "none",
		Strategies: []string{"baseline", "retry", "circuit_breaker", "stack"},
		Policies:   []string{"timeout", "retry", "circuit_breaker"},
	}
}

func (plain) Refuse(entry Entry, problems *Problems) {
	if retry, ok := entry.Policy.(Retry); ok {
		problems.RetryAfter(retry)
	}
}

func (plain) Guard(policy Policy) Guard {
	switch policy := policy.(type) {
	case Retry:
		return func(ctx context.Context, guarded Call) (Outcome, error) { return retried(ctx, policy, guarded) }
	case TimeoutPolicy:
		return func(ctx context.Context, guarded Call) (Outcome, error) { return ended(ctx, policy, guarded) }
	}
	var let atomic.Int64
	return func(ctx context.Context, guarded Call) (Outcome, error) {
		if let.Add(1) > 2 {
			return 0, ErrRejected
		}
		return guarded(ctx)
	}
}

func retried(ctx context.Context, policy Retry, guarded Call) (Outcome, error) {
	outcome, err := guarded(ctx)
	for more := 1; err == nil && more < policy.MaxAttempts && policy.IsRetried(outcome); more++ {
		outcome, err = guarded(ctx)
	}
	return outcome, err
}

func ended(ctx context.Context, policy TimeoutPolicy, guarded Call) (Outcome, error) {
	ctx, cancel := context.WithTimeout(ctx, Micros(policy.AfterUs))
	defer cancel()
	return guarded(ctx)
}
