package kit

import (
	"fmt"
	"maps"
	"slices"
	"strings"
)

// ownHeaders are those that this client sets itself.
var ownHeaders = []string{"connection", "content-length", "host", "transfer-encoding"}

// refused says what of a round this client cannot do: the kit first, then the adapter for its library.
func refused(round Round, adapter Adapter) []Problem {
	description := adapter.Description()
	problems := NewProblems(description.Library)
	for _, name := range slices.Sorted(maps.Keys(round.Request.Headers)) {
		if slices.Contains(ownHeaders, strings.ToLower(name)) {
			why := "this client sets the header itself"
			problems.Refuse("request.headers."+name, round.Request.Headers[name], why, "")
		}
	}
	if !slices.Contains(description.Strategies, round.Strategy.Kind) {
		problems.Refuse("strategy", round.Strategy.Kind, lacking, strings.Join(description.Strategies, ", "))
		return problems.All()
	}
	refusePolicies(round, adapter, problems)
	return problems.All()
}

const lacking = "this client does not have it"

func refusePolicies(round Round, adapter Adapter, problems *Problems) {
	strategy, available := round.Strategy, adapter.Description().Policies
	for i, policy := range strategy.Policies {
		below := problems.in(path(strategy, i))
		if !slices.Contains(available, policy.Kind()) {
			below.Refuse("", nil, lacking, strings.Join(available, ", "))
			continue
		}
		adapter.Refuse(Entry{policy, strategy.Policies[i+1:], round.Users}, below)
	}
}

// path is where a policy stands in a round.
func path(strategy Strategy, index int) string {
	kind := strategy.Policies[index].Kind()
	if strategy.Kind == "stack" {
		return fmt.Sprintf("strategy.stack[%d].%s.", index, kind)
	}
	return "strategy." + kind + "."
}
