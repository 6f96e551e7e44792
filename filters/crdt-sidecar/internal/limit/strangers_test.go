package limit

import (
	"testing"

	"pgregory.net/rapid"
)

// forgedBucket is what a stranger would write of a made-up replica, or of one that exists.
func forgedBucket(replica Replica, epoch, granted, returned, tat int64) Cells {
	const most = int64(3600) * 1000 * millisecond
	return Cells{Kind: KindBucket, TAT: tat, Sent: testNow, Buckets: []Bucket{
		{Replica: replica, Epoch: epoch, Granted: granted, Returned: returned, Capacity: most},
	}}
}

func TestTwoForgedPacketsDoNotEmptyAFullBucket(t *testing.T) {
	for _, algorithm := range []Algorithm{TokenBucket, LeakyBucket, GCRA} {
		rule, _ := NewRule(algorithm, 100, 60_000, 0)
		state, much := NewState(rule), 100*emission(rule, 100)
		Lease(state, 1, testNow, rule, 100)
		state.Merge(testNow, forgedBucket(4242, testNow, much, 0, 0))
		state.Merge(testNow, forgedBucket(4242, testNow, much, much, 0))
		if room := state.Room(testNow, rule); room != 0 {
			t.Errorf("algorithm %d: %d units to take once more", algorithm, room)
		}
	}
}

func TestAStrangerTakesBackOnlyWhatItsOwnMessagesCharged(t *testing.T) {
	rule, _ := NewRule(GCRA, 100, 60_000, 0)
	state, peer := NewState(rule), NewState(rule)
	Lease(peer, 2, testNow, rule, 60)
	state.Merge(testNow, peer.Cells(0))
	much := emission(rule, 100)
	state.Merge(testNow, forgedBucket(4242, testNow, much, 0, testNow+much))
	if room := state.Room(testNow, rule); room != 0 {
		t.Fatalf("room for %d", room)
	}
	state.Merge(testNow, forgedBucket(4242, testNow, much, much, testNow))
	if room := state.Room(testNow, rule); room != 40 {
		t.Errorf("room for %d of 100 after a peer's 60", room)
	}
}

func TestWhatAStrangerTakesBackLateIsNotThisNodesOwn(t *testing.T) {
	rule, _ := NewRule(GCRA, 100, 60_000, 0)
	state, much, half := NewState(rule), emission(rule, 100), testNow+30_000*millisecond
	state.Merge(testNow, forgedBucket(4242, testNow, much, 0, testNow+much))
	Lease(state, 1, half, rule, 50)
	state.Merge(half, forgedBucket(4242, testNow, much, much, 0))
	if room := state.Room(half, rule); room != 50 {
		t.Errorf("room for %d of 100 after 50 that this node granted just now", room)
	}
}

func TestWhatAPeerGivesBackIsThereForAllAgain(t *testing.T) {
	rule, _ := NewRule(GCRA, 100, 60_000, 0)
	state, peer := NewState(rule), NewState(rule)
	Lease(peer, 2, testNow, rule, 60)
	state.Merge(testNow, peer.Cells(2))
	Take(state, 1, testNow, rule, 1)
	GiveBack(peer, 2, testNow, rule, 50, 0)
	state.Merge(testNow, peer.Cells(2))
	if room := state.Room(testNow, rule); room != 89 {
		t.Errorf("room for %d of 100 after 10 and 1", room)
	}
}

func TestWhateverStrangersSendANodeNeverAdmitsMoreThanItWouldAlone(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		algorithm := Algorithm(rapid.IntRange(int(TokenBucket), int(GCRA)).Draw(t, "algorithm"))
		rule, _ := NewRule(algorithm, rapid.Int64Range(1, 20).Draw(t, "limit"), 2000, 0)
		state, now, admitted := NewState(rule), testNow, int64(0)
		for range rapid.IntRange(1, 60).Draw(t, "steps") {
			now += rapid.Int64Range(0, 300*millisecond).Draw(t, "after")
			if rapid.Bool().Draw(t, "honest") {
				admitted += Take(state, 1, now, rule, 1).Allowed
				continue
			}
			granted := rapid.Int64Range(0, 50).Draw(t, "granted") * emission(rule, 1)
			cells := forgedBucket(rapid.SampledFrom([]Replica{2, 3, 4}).Draw(t, "replica"),
				now-rapid.Int64Range(-1, 3).Draw(t, "age")*1000*millisecond, granted, rapid.Int64Range(0, granted).Draw(t, "returned"),
				now+rapid.Int64Range(-5, 50).Draw(t, "debt")*100*millisecond)
			cells.Sent, cells.Whole = now, rapid.Bool().Draw(t, "whole")
			state.Merge(now, cells)
		}
		if most := rule.Burst + mulDivUp(now-testNow, rule.Limit, rule.Window); admitted > most {
			t.Fatalf("admitted %d, alone at most %d", admitted, most)
		}
	})
}

func TestMadeUpReplicasOfAKeyAreBounded(t *testing.T) {
	for _, algorithm := range []Algorithm{FixedWindow, SlidingWindowCounter, GCRA} {
		rule, _ := NewRule(algorithm, 1_000_000, 3_600_000, 0)
		state, now := NewState(rule), testNow-testNow%rule.Window
		Take(state, 1, now, rule, 5)
		made := func(base, at int64) {
			for replica := range int64(3 * MaxReplicas) {
				other := NewState(rule)
				Take(other, Replica(base+replica), at, rule, 1)
				state.Merge(at, other.Cells(0))
			}
		}
		made(1000, now)
		if cells := state.Cells(0); len(cells.Rings)+len(cells.Buckets) > MaxReplicas {
			t.Errorf("algorithm %d: %d replicas of a key", algorithm, len(cells.Rings)+len(cells.Buckets))
		}
		if used := rule.Limit - state.Room(now, rule); used < 5 || used > 5+MaxReplicas {
			t.Errorf("algorithm %d: %d units used", algorithm, used)
		}
	}
}

func TestReplicasOfOldMakeRoomForNewOnes(t *testing.T) {
	for _, algorithm := range []Algorithm{FixedWindow, SlidingWindowCounter, GCRA} {
		rule, _ := NewRule(algorithm, 1_000_000, 60_000, 0)
		state, now := NewState(rule), testNow-testNow%rule.Window
		for life := range int64(2 * MaxReplicas) { // of a node that starts again every second
			now += 1000 * millisecond
			other := NewState(rule)
			Take(other, Replica(life+10), now, rule, 1000)
			before := state.Room(now, rule)
			state.Merge(now, other.Cells(0))
			if room := state.Room(now, rule); room != before-1000 {
				t.Fatalf("algorithm %d: life %d is not counted: %d after %d", algorithm, life, room, before)
			}
		}
	}
}

func TestALogSendsWhatWasGivenBackOnceMoreAndNotForTheWholeWindow(t *testing.T) {
	rule, _ := NewRule(SlidingWindowLog, 100_000, 60_000, 0)
	state, now, sent := NewState(rule), testNow, 0
	for range 1000 {
		now += millisecond
		Take(state, 1, now, rule, 1)
		sent += len(state.Cells(1).Entries)
		GiveBack(state, 1, now, rule, 1, 0)
		sent += len(state.Cells(1).Entries)
	}
	if sent > 2*2*1000 {
		t.Errorf("%d entries for 1,000 that were taken and given back", sent)
	}
}

func TestALogForgetsWhatWasGivenBackBeforeAnybodyKnew(t *testing.T) {
	rule, _ := NewRule(SlidingWindowLog, 10, 60_000, 0)
	state, other := NewState(rule), NewState(rule)
	Take(state, 1, testNow, rule, 4)
	Take(state, 1, testNow, rule, 3)
	GiveBack(state, 1, testNow, rule, 5, 0)
	other.Merge(testNow, state.Cells(1))
	if state.Size() != 1 || state.Room(testNow, rule) != 8 || other.Room(testNow, rule) != 8 {
		t.Errorf("%d entries, room %d here and %d there", state.Size(), state.Room(testNow, rule), other.Room(testNow, rule))
	}
	state.Cells(0) // told to someone: what comes back now has its own entry
	GiveBack(state, 1, testNow, rule, 2, 0)
	other.Merge(testNow, state.Cells(1))
	if state.Room(testNow, rule) != 10 || other.Room(testNow, rule) != 10 {
		t.Errorf("room %d here and %d there", state.Room(testNow, rule), other.Room(testNow, rule))
	}
}
