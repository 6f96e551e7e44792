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
func fits(grants []grant, now int64, plan Plan, cost int64) bool {
	switch plan.Algorithm {
	case FixedWindow:
		start := now / plan.Window * plan.Window
		return sumBetween(grants, start, now+1)+cost <= plan.Limit
	case SlidingWindowLog:
		return sumBetween(grants, now-plan.Window+1, now+1)+cost <= plan.Limit
	case SlidingWindowCounter:
		return counterFits(grants, now, plan, cost)
	}
	return bucketFits(grants, now, plan, cost)
}

func counterFits(grants []grant, now int64, plan Plan, cost int64) bool {
	length := (plan.Window/microsecond + plan.SubWindow - 1) / plan.SubWindow * microsecond
	start := now / length * length
	whole := sumBetween(grants, start-(plan.SubWindow-1)*length, now+1)
	oldest := sumBetween(grants, start-plan.SubWindow*length, start-(plan.SubWindow-1)*length)
	weighted := big.NewRat(oldest*(start+length-now), length)
	return weighted.Add(weighted, big.NewRat(whole+cost, 1)).Cmp(big.NewRat(plan.Limit, 1)) <= 0
}

// bucketFits replays the bucket in rational numbers; a nanosecond per grant is the rounding of the integers.
func bucketFits(grants []grant, now int64, plan Plan, cost int64) bool {
	tokens, last := big.NewRat(plan.Burst, 1), testNow
	refill := func(to int64) {
		tokens.Add(tokens, big.NewRat((to-last)*plan.Limit, plan.Window))
		if full := big.NewRat(plan.Burst, 1); tokens.Cmp(full) > 0 {
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
		plan := drawPlan(t)
		if plan.Burst > 0 && plan.Window%plan.Limit != 0 {
			t.Skip("rounded to nanoseconds: see the test below")
		}
		state, now := NewState(plan), testNow
		var grants []grant
		for _, s := range drawSteps(t, 1) {
			now += s.after
			expected := fits(grants, now, plan, s.amount)
			if answer := Take(state, 1, now, plan, s.amount); (answer.Allowed == 1) != expected {
				t.Fatalf("%+v: cost %d at %d: allowed %d, by definition %v", plan, s.amount, now-testNow, answer.Allowed, expected)
			}
			if expected {
				grants = append(grants, grant{now, s.amount})
			}
		}
	})
}

func TestRoundingNeverAdmitsMoreThanTheDefinition(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		plan := drawPlan(t)
		if plan.Burst == 0 {
			return
		}
		state, now := NewState(plan), testNow
		var grants []grant
		for _, s := range drawSteps(t, 1) {
			now += s.after
			if Take(state, 1, now, plan, s.amount).Allowed == 1 {
				if !fits(grants, now, plan, s.amount) {
					t.Fatalf("%+v: cost %d at %d was admitted", plan, s.amount, now-testNow)
				}
				grants = append(grants, grant{now, s.amount})
			}
		}
	})
}

func TestTheWaitIsTheFirstInstantAtWhichTheCostFits(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		states, plan, now := grow(t, 2)
		s, cost := states[0], rapid.Int64Range(1, 14).Draw(t, "cost")
		wait := s.Wait(now, plan, cost)
		switch {
		case wait == Never:
			if cost <= plan.Capacity() {
				t.Fatalf("cost %d never fits %+v", cost, plan)
			}
		case s.Wait(now+max(wait-1, 0), plan, cost) == 0 && wait > 0:
			t.Fatalf("%+v: cost %d fits before the wait of %d ns is over", plan, cost, wait)
		case s.Wait(now+wait, plan, cost) != 0:
			t.Fatalf("%+v: cost %d does not fit after the wait of %d ns", plan, cost, wait)
		}
	})
}

func TestRoomIsTheLargestCostThatFits(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		states, plan, now := grow(t, 2)
		room := states[0].Room(now, plan)
		if room > 0 && states[0].Wait(now, plan, room) != 0 {
			t.Fatalf("%+v: room is %d, but that does not fit", plan, room)
		}
		if states[0].Wait(now, plan, max(room, 0)+1) == 0 {
			t.Fatalf("%+v: room is %d, but one more fits", plan, room)
		}
	})
}

func TestEverythingIsAvailableAfterTheReset(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		states, plan, now := grow(t, 2)
		reset := states[0].Reset(now, plan)
		if room := states[0].Room(now+reset, plan); room < plan.Capacity() {
			t.Fatalf("%+v: room %d after the reset", plan, room)
		}
	})
}

func TestMonotoneInCost(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		states, plan, now := grow(t, 1)
		cost := rapid.Int64Range(2, 12).Draw(t, "cost")
		if states[0].Wait(now, plan, cost) == 0 && states[0].Wait(now, plan, cost-1) != 0 {
			t.Fatalf("%d fits, %d does not", cost, cost-1)
		}
	})
}

func TestABurstFromIdleAdmitsExactlyTheCapacity(t *testing.T) {
	for name, algorithm := range Names {
		for _, units := range []int64{1, 7, 100, 999} { // 60 s divide by some, not by others
			plan, err := NewPlan(algorithm, units, 60_000, 0)
			if err != nil {
				t.Fatal(err)
			}
			state, admitted := NewState(plan), int64(0)
			for range 3 * units {
				admitted += Take(state, 1, testNow, plan, 1).Allowed
			}
			if admitted != units {
				t.Errorf("%s admitted %d of a burst of %d on a limit of %d", name, admitted, 3*units, units)
			}
		}
	}
}

func TestALeakyBucketSpacesWhatItPasses(t *testing.T) {
	plan, _ := NewPlan(LeakyBucket, 10, 1000, 3)
	state := NewState(plan)
	for i := range int64(3) {
		if answer := Take(state, 1, testNow, plan, 1); answer.Delay != i*100*millisecond {
			t.Errorf("request %d waits %d ns", i, answer.Delay)
		}
	}
	if answer := Take(state, 1, testNow, plan, 1); answer.Allowed != 0 || answer.RetryAfter != 100*millisecond {
		t.Errorf("the fourth: %+v", answer)
	}
}

func TestALeaseIsWhatFitsAndComesBackWhole(t *testing.T) {
	for name, algorithm := range Names {
		plan, _ := NewPlan(algorithm, 10, 60_000, 0)
		state, now := NewState(plan), testNow-testNow%plan.Window+millisecond
		Take(state, 1, now, plan, 4)
		if answer := Lease(state, 1, now, plan, 20); answer.Allowed != 6 || answer.Remaining != 0 {
			t.Errorf("%s leased %+v", name, answer)
		}
		if answer := GiveBack(state, 1, now+5*millisecond, plan, 6, 5*millisecond); answer.Allowed != 6 || answer.Remaining != 6 {
			t.Errorf("%s took back %+v", name, answer)
		}
		if answer := GiveBack(state, 2, now+5*millisecond, plan, 6, 5*millisecond); answer.Allowed != 0 {
			t.Errorf("%s gave node 2 what node 1 had leased: %+v", name, answer)
		}
	}
}

func TestNothingComesBackOfAWindowThatIsOver(t *testing.T) {
	for name, algorithm := range Names {
		plan, _ := NewPlan(algorithm, 10, 1000, 0)
		state := NewState(plan)
		Lease(state, 1, testNow, plan, 10)
		now := testNow + 2000*millisecond
		if answer := GiveBack(state, 1, now, plan, 10, 2000*millisecond); answer.Allowed != 0 {
			t.Errorf("%s took back %d", name, answer.Allowed)
		}
	}
}

func TestAReportCountsWhetherItFitsOrNot(t *testing.T) {
	plan, _ := NewPlan(FixedWindow, 10, 60_000, 0)
	state := NewState(plan)
	first, second := Report(state, 1, testNow, plan, 8), Report(state, 1, testNow, plan, 8)
	if first.Allowed != 1 || second.Allowed != 0 || state.Room(testNow, plan) != -6 {
		t.Errorf("%+v %+v room %d", first, second, state.Room(testNow, plan))
	}
}

func TestAPlanSaysWhatIsWrongWithIt(t *testing.T) {
	cases := map[string][4]int64{
		"limit is 0; allowed: 1 to 1000000000":                                                                  {int64(FixedWindow), 0, 1000, 0},
		"limit is 100001; allowed: 1 to 100000":                                                                 {int64(SlidingWindowLog), 100_001, 1000, 0},
		"window_ms is 86400001; allowed: 1 to 86400000":                                                         {int64(FixedWindow), 1, 86_400_001, 0},
		"sub-windows is 61; allowed: 0 to 60":                                                                   {int64(SlidingWindowCounter), 1, 1000, 61},
		"parameter of a window without sub-windows is 1; allowed: 0 to 0":                                       {int64(FixedWindow), 1, 1000, 1},
		"burst is -1; allowed: 0 to 1000000000":                                                                 {int64(GCRA), 1, 1000, -1},
		"burst is 1000; it would take more than a year to refill at 1 units in 86400000 ms: choose at most 365": {int64(GCRA), 1, 86_400_000, 1000},
		"limit is 1001 in 1 ms; allowed for a bucket: at most 1000 units a millisecond, here 1000":              {int64(GCRA), 1001, 1, 0},
	}
	for expected, c := range cases {
		if _, err := NewPlan(Algorithm(c[0]), c[1], c[2], c[3]); err == nil || err.Error() != expected {
			t.Errorf("got %v, expected %s", err, expected)
		}
	}
}
