package limit

import (
	"testing"

	"pgregory.net/rapid"
)

// network delivers every node's own cells to all others, once an interval, after a delay, in simulated time.
type network struct {
	interval, delay int64
	underway        []message
}

type message struct {
	from  int
	due   int64
	cells Cells
}

func (n *network) pass(states []State, from, to int64) {
	for tick := (from/n.interval + 1) * n.interval; tick <= to; tick += n.interval {
		n.deliver(states, tick)
		for i, s := range states {
			n.underway = append(n.underway, message{i, tick + n.delay, s.Cells(Replica(i + 1))})
		}
	}
	n.deliver(states, to)
}

func (n *network) deliver(states []State, now int64) {
	var later []message
	for _, m := range n.underway {
		if m.due > now {
			later = append(later, m)
			continue
		}
		for i, s := range states {
			if i != m.from {
				s.Merge(m.due, m.cells)
			}
		}
	}
	n.underway = later
}

// entitled is the most that one node alone would admit from a full start within a time; windows last longer than it.
func entitled(rule Rule, elapsed int64) int64 {
	if rule.Burst > 0 {
		return rule.Burst + mulDivUp(elapsed, rule.Limit, rule.Window)
	}
	return rule.Limit
}

func TestOverAdmissionIsAtMostRateTimesStalenessTimesTheShareOfTheOthers(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		nodes := rapid.IntRange(1, 8).Draw(t, "nodes")
		perSecond := rapid.Int64Range(10, 5000).Draw(t, "rate")
		net := &network{
			interval: rapid.Int64Range(1, 100).Draw(t, "interval") * millisecond,
			delay:    rapid.Int64Range(0, 50).Draw(t, "delay") * millisecond,
		}
		algorithm := Algorithm(rapid.IntRange(int(FixedWindow), int(GCRA)).Draw(t, "algorithm"))
		rule, _ := NewRule(algorithm, rapid.Int64Range(1, 300).Draw(t, "limit"), 3_600_000, 0)
		states := make([]State, nodes)
		for i := range states {
			states[i] = NewState(rule)
		}
		start := testNow - testNow%rule.Window
		now, admitted := start, int64(0)
		for i := range int64(400) {
			next := start + i*1_000_000_000/perSecond
			net.pass(states, now, next)
			now = next
			admitted += Take(states[int(i)%nodes], Replica(int(i)%nodes+1), now, rule, 1).Allowed
		}
		n, staleness := int64(nodes), net.interval+net.delay
		over := mulDivUp(perSecond*(n-1), staleness, 1_000_000_000*n) + n - 1
		bound := entitled(rule, now-start) + min(over, (n-1)*rule.Limit)
		if admitted > bound {
			t.Fatalf("%+v: %d nodes, %d/s, staleness %d ms: admitted %d, bound %d",
				rule, nodes, perSecond, staleness/millisecond, admitted, bound)
		}
		if fewest := min(entitled(rule, 0), 400); admitted < fewest {
			t.Fatalf("%+v: admitted %d, entitled to %d", rule, admitted, fewest)
		}
	})
}
