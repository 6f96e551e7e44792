package limit

import (
	"math/big"
	"testing"

	"pgregory.net/rapid"
)

// grant is one admitted request, as the oracles remember it: all of them, for ever.
type grant struct{ at, cost int64 }

func sumBetween(grants []grant, from, to int64) int64 {
	total := int64(0)
	for _, g := range grants {
		if g.at >= from && g.at < to {
			total += g.cost
		}
	}
	return total
}

// fits says by the definition in the contract whether a cost may be admitted, from the grants alone.
func fits(grants []grant, now int64, rule Rule, cost int64) bool {
	switch rule.Algorithm {
	case FixedWindow:
		start := now / rule.Window * rule.Window
		return sumBetween(grants, start, now+1)+cost <= rule.Limit
	case SlidingWindowLog:
		return sumBetween(grants, now-rule.Window+1, now+1)+cost <= rule.Limit
	case SlidingWindowCounter:
		return counterFits(grants, now, rule, cost)
	}
	return bucketFits(grants, now, rule, cost)
}

func counterFits(grants []grant, now int64, rule Rule, cost int64) bool {
	length := (rule.Window/microsecond + rule.SubWindow - 1) / rule.SubWindow * microsecond
	start := now / length * length
	whole := sumBetween(grants, start-(rule.SubWindow-1)*length, now+1)
	oldest := sumBetween(grants, start-rule.SubWindow*length, start-(rule.SubWindow-1)*length)
	weighted := big.NewRat(oldest*(start+length-now), length)
	return weighted.Add(weighted, big.NewRat(whole+cost, 1)).Cmp(big.NewRat(rule.Limit, 1)) <= 0
}

// bucketFits replays the bucket in rational numbers; a nanosecond per grant is the rounding of the integers.
func bucketFits(grants []grant, now int64, rule Rule, cost int64) bool {
	tokens, last := big.NewRat(rule.Burst, 1), testNow
	refill := func(to int64) {
		tokens.Add(tokens, big.NewRat((to-last)*rule.Limit, rule.Window))
		if full := big.NewRat(rule.Burst, 1); tokens.Cmp(full) > 0 {
			tokens = full
		}
		last = to
	}
	for _, g := range grants {
		refill(g.at)
		tokens.Sub(tokens, big.NewRat(g.cost, 1))
	}
	refill(now)
	return tokens.Cmp(big.NewRat(cost, 1)) >= 0
}

func TestASingleNodeDecidesByTheDefinition(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		rule := drawRule(t)
		if rule.Burst > 0 && rule.Window%rule.Limit != 0 {
			t.Skip("rounded to nanoseconds: see the test below")
		}
		state, now := NewState(rule), testNow
		var grants []grant
		for _, s := range drawSteps(t, 1) {
			now += s.after
			expected := fits(grants, now, rule, s.amount)
			if answer := Take(state, 1, now, rule, s.amount); (answer.Allowed == 1) != expected {
				t.Fatalf("%+v: cost %d at %d: allowed %d, by definition %v", rule, s.amount, now-testNow, answer.Allowed, expected)
			}
			if expected {
				grants = append(grants, grant{now, s.amount})
			}
		}
	})
}

func TestRoundingNeverAdmitsMoreThanTheDefinition(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		rule := drawRule(t)
		if rule.Burst == 0 {
			return
		}
		state, now := NewState(rule), testNow
		var grants []grant
		for _, s := range drawSteps(t, 1) {
			now += s.after
			if Take(state, 1, now, rule, s.amount).Allowed == 1 {
				if !fits(grants, now, rule, s.amount) {
					t.Fatalf("%+v: cost %d at %d was admitted", rule, s.amount, now-testNow)
				}
				grants = append(grants, grant{now, s.amount})
			}
		}
	})
}

func TestTheWaitIsTheFirstInstantAtWhichTheCostFits(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		states, rule, now := grow(t, 2)
		s, cost := states[0], rapid.Int64Range(1, 14).Draw(t, "cost")
		wait := s.Wait(now, rule, cost)
		switch {
		case wait == Never:
			if cost <= rule.Capacity() {
				t.Fatalf("cost %d never fits %+v", cost, rule)
			}
		case s.Wait(now+max(wait-1, 0), rule, cost) == 0 && wait > 0:
			t.Fatalf("%+v: cost %d fits before the wait of %d ns is over", rule, cost, wait)
		case s.Wait(now+wait, rule, cost) != 0:
			t.Fatalf("%+v: cost %d does not fit after the wait of %d ns", rule, cost, wait)
		}
	})
}

func TestTheWaitDoesNotCountOnWhatAReplicaHasAlreadyGivenBack(t *testing.T) {
	rule, err := NewRule(SlidingWindowLog, 2, 1, 0)
	if err != nil {
		t.Fatal(err)
	}
	one, other := NewState(rule), NewState(rule)
	Take(other, 2, testNow, rule, 1)
	Take(one, 1, testNow+1, rule, 1)
	GiveBack(other, 2, testNow+1, rule, 1, 0)
	one.Merge(testNow+1, other.Cells(0))
	if wait := one.Wait(testNow+1, rule, 2); wait != rule.Window {
		t.Fatalf("room for two is there after %d ns, when the grant of replica 1 leaves, not after %d", rule.Window, wait)
	}
}

func TestRoomIsTheLargestCostThatFits(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		states, rule, now := grow(t, 2)
		room := states[0].Room(now, rule)
		if room > 0 && states[0].Wait(now, rule, room) != 0 {
			t.Fatalf("%+v: room is %d, but that does not fit", rule, room)
		}
		if states[0].Wait(now, rule, max(room, 0)+1) == 0 {
			t.Fatalf("%+v: room is %d, but one more fits", rule, room)
		}
	})
}

func TestEverythingIsAvailableAfterTheReset(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		states, rule, now := grow(t, 2)
		reset := states[0].Reset(now, rule)
		if room := states[0].Room(now+reset, rule); room < rule.Capacity() {
			t.Fatalf("%+v: room %d after the reset", rule, room)
		}
	})
}

func TestMonotoneInCost(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		states, rule, now := grow(t, 1)
		cost := rapid.Int64Range(2, 12).Draw(t, "cost")
		if states[0].Wait(now, rule, cost) == 0 && states[0].Wait(now, rule, cost-1) != 0 {
			t.Fatalf("%d fits, %d does not", cost, cost-1)
		}
	})
}

func TestABurstFromIdleAdmitsExactlyTheCapacity(t *testing.T) {
	for name, algorithm := range Names {
		for _, units := range []int64{1, 7, 100, 999} { // 60 s divide by some, not by others
			rule, err := NewRule(algorithm, units, 60_000, 0)
			if err != nil {
				t.Fatal(err)
			}
			state, admitted := NewState(rule), int64(0)
			for range 3 * units {
				admitted += Take(state, 1, testNow, rule, 1).Allowed
			}
			if admitted != units {
				t.Errorf("%s admitted %d of a burst of %d on a limit of %d", name, admitted, 3*units, units)
			}
		}
	}
}

func TestALeakyBucketSpacesWhatItPasses(t *testing.T) {
	rule, _ := NewRule(LeakyBucket, 10, 1000, 3)
	state := NewState(rule)
	for i := range int64(3) {
		if answer := Take(state, 1, testNow, rule, 1); answer.Delay != i*100*millisecond {
			t.Errorf("request %d waits %d ns", i, answer.Delay)
		}
	}
	if answer := Take(state, 1, testNow, rule, 1); answer.Allowed != 0 || answer.RetryAfter != 100*millisecond {
		t.Errorf("the fourth: %+v", answer)
	}
}

func TestALeaseIsWhatFitsAndComesBackWhole(t *testing.T) {
	for name, algorithm := range Names {
		rule, _ := NewRule(algorithm, 10, 60_000, 0)
		state, now := NewState(rule), testNow-testNow%rule.Window+millisecond
		Take(state, 1, now, rule, 4)
		if answer := Lease(state, 1, now, rule, 20); answer.Allowed != 6 || answer.Remaining != 0 {
			t.Errorf("%s leased %+v", name, answer)
		}
		if answer := GiveBack(state, 1, now+5*millisecond, rule, 6, 5*millisecond); answer.Allowed != 6 || answer.Remaining != 6 {
			t.Errorf("%s took back %+v", name, answer)
		}
		if answer := GiveBack(state, 2, now+5*millisecond, rule, 6, 5*millisecond); answer.Allowed != 0 {
			t.Errorf("%s gave node 2 what node 1 had leased: %+v", name, answer)
		}
	}
}

func TestNothingComesBackOfAWindowThatIsOver(t *testing.T) {
	for name, algorithm := range Names {
		rule, _ := NewRule(algorithm, 10, 1000, 0)
		state := NewState(rule)
		Lease(state, 1, testNow, rule, 10)
		now := testNow + 2000*millisecond
		if answer := GiveBack(state, 1, now, rule, 10, 2000*millisecond); answer.Allowed != 0 {
			t.Errorf("%s took back %d", name, answer.Allowed)
		}
	}
}

func TestAReportCountsWhetherItFitsOrNot(t *testing.T) {
	rule, _ := NewRule(FixedWindow, 10, 60_000, 0)
	state := NewState(rule)
	first, second := Report(state, 1, testNow, rule, 8), Report(state, 1, testNow, rule, 8)
	if first.Allowed != 1 || second.Allowed != 0 || state.Room(testNow, rule) != -6 {
		t.Errorf("%+v %+v room %d", first, second, state.Room(testNow, rule))
	}
}

func TestARuleSaysWhatIsWrongWithIt(t *testing.T) {
	cases := map[string][4]int64{
		"limit is 0; allowed: 1 to 1000000000":                                                                  {int64(FixedWindow), 0, 1000, 0},
		"limit is 100001; allowed: 1 to 100000":                                                                 {int64(SlidingWindowLog), 100_001, 1000, 0},
		"window_ms is 86400001; allowed: 1 to 86400000":                                                         {int64(FixedWindow), 1, 86_400_001, 0},
		"sub-windows is 61; allowed: 0 to 60":                                                                   {int64(SlidingWindowCounter), 1, 1000, 61},
		"parameter of a window without sub-windows is 1; allowed: 0 to 0":                                       {int64(FixedWindow), 1, 1000, 1},
		"burst is -1; allowed: 0 to 1000000000":                                                                 {int64(GCRA), 1, 1000, -1},
		"burst is 1000; it would take more than a year to refill at 1 units in 86400000 ms: choose at most 365": {int64(GCRA), 1, 86_400_000, 1000},
		"limit is 1001 in 1 ms; allowed for a bucket: at most 1000 units per millisecond, here 1000":            {int64(GCRA), 1001, 1, 0},
	}
	for expected, c := range cases {
		if _, err := NewRule(Algorithm(c[0]), c[1], c[2], c[3]); err == nil || err.Error() != expected {
			t.Errorf("got %v, expected %s", err, expected)
		}
	}
}
