// Package kit is what clients in Go share: the contract's server, its rounds, their users and rows.
package kit

import (
	"context"
	"errors"
)

// Adapter is what a client has that is special about its library; the kit does the rest.
type Adapter interface {
	// Description says who this client is.
	Description() Description

	// Refuse says what of a policy the library cannot do exactly: by name, never rounded or clamped.
	// It is asked about the policies of the description alone.
	Refuse(entry Entry, problems *Problems)

	// Guard is a new policy of the library, with every parameter set. The kit asks once for each round,
	// or once for each user, as the policy's scope says.
	Guard(policy Policy) Guard
}

// Entry is a policy where it stands in a round.
type Entry struct {
	Policy  Policy
	Guarded []Policy // the policies further in, the outermost first
	Users   int      // how many virtual users there are
}

// Call makes one call, or the one attempt of a call where no policy stands further in.
//
// Its error is ErrRejected, or that of a context whose round is over; a failed attempt is an outcome.
type Call func(ctx context.Context) (Outcome, error)

// Guard is a policy of a library around the call that it guards: it gives the outcome once the policy has decided.
// It hands its context on to the guarded call, or one that ends earlier.
type Guard func(ctx context.Context, guarded Call) (Outcome, error)

// ErrRejected says that a policy has let nothing through.
var ErrRejected = errors.New("rejected by a policy")

// stacked puts guards around an attempt, the first one outermost.
func stacked(guards []Guard, attempt Call) Call {
	call := attempt
	for i := len(guards) - 1; i >= 0; i-- {
		outer, inner := guards[i], call
		call = func(ctx context.Context) (Outcome, error) { return outer(ctx, inner) }
	}
	return call
}

// guards are those of one round: the ones that all users share, and makers of new ones for each user.
type guards []func() Guard

func guardsOf(policies []Policy, adapter Adapter) guards {
	all := make(guards, 0, len(policies))
	for _, policy := range policies {
		fresh := func() Guard { return adapter.Guard(policy) }
		if policy.Shared() {
			shared := fresh()
			fresh = func() Guard { return shared }
		}
		all = append(all, fresh)
	}
	return all
}

// ofUser returns the guards of one user, the outermost first.
func (g guards) ofUser() []Guard {
	own := make([]Guard, 0, len(g))
	for _, guard := range g {
		own = append(own, guard())
	}
	return own
}
