package table

import (
	"testing"
	"time"

	"patternbench.dev/crdt-sidecar/internal/clock"
	"patternbench.dev/crdt-sidecar/internal/limit"
	"patternbench.dev/crdt-sidecar/internal/wire"
)

const (
	skewLimit    = 100
	skewWindow   = 10 * time.Second
	skewRate     = 200 // requests per second in all, of one client, to the nodes in turn
	skewInterval = 10 * time.Millisecond
)

// node is a table with its own clock.
type node struct {
	*Table
	self  limit.Replica
	hands *hands
}

// tell brings a node's changed cells to another one over the wire's own format.
func (n *node) tell(t *testing.T, other *node) {
	message := wire.Start(wire.Header{Sender: n.self, Now: n.clock.Now()})
	n.Changed(func(item wire.Item) { message = wire.Append(message, item) })
	_, items, err := wire.Decode(message)
	if err != nil {
		t.Fatal(err)
	}
	other.Merge(items)
}

// skewed runs two nodes, the second ahead by so much, for some windows and a client that asks for more than its limit;
// it gives when what was admitted, in true time from the beginning of one of the first node's windows.
func skewed(t *testing.T, p limit.Rule, ahead time.Duration) (admitted []time.Duration) {
	begin := (int64(1_790_000_000_000_000_000)/p.Window + 1) * p.Window
	var nodes [2]*node
	for i := range nodes {
		h := &hands{wall: begin + int64(ahead)*int64(i)}
		nodes[i] = &node{New(limit.Replica(i+1), clock.New(h.read), 10), limit.Replica(i + 1), h}
	}
	const step = time.Second / skewRate
	for now := time.Duration(0); now < skewWindows*skewWindow; now += step {
		answer, err := nodes[int(now/step)%2].Take([]byte("client"), p, 1)
		if err != nil {
			t.Fatal(err)
		}
		if answer.Allowed == 1 {
			admitted = append(admitted, now)
		}
		if now%skewInterval == 0 {
			nodes[0].tell(t, nodes[1])
			nodes[1].tell(t, nodes[0])
		}
		for _, n := range nodes {
			n.hands.pass(step)
		}
	}
	return admitted
}

const (
	skewWindows    = 5
	skewSubWindows = 5
	skewBurst      = 20
)

func skewRule(t *testing.T, algorithm limit.Algorithm) limit.Rule {
	parameter := map[limit.Algorithm]int64{
		limit.SlidingWindowCounter: skewSubWindows, limit.TokenBucket: skewBurst, limit.LeakyBucket: skewBurst, limit.GCRA: skewBurst,
	}
	p, err := limit.NewRule(algorithm, skewLimit, skewWindow.Milliseconds(), parameter[algorithm])
	if err != nil {
		t.Fatal(err)
	}
	return p
}

func byWindow(admitted []time.Duration) (counts [skewWindows]int) {
	for _, at := range admitted {
		counts[at/skewWindow]++
	}
	return counts
}

// stale is what the bound of one clock allows beyond the limit: rate x staleness, and one more for the other node.
const stale = int(skewRate*skewInterval/time.Second) + 1

func TestClocksThatDifferByLessThanAWindowCostAtMostTheirDifferenceOnceAndNoWindowMoreThanItsLimitAfterwards(t *testing.T) {
	for _, algorithm := range []limit.Algorithm{limit.FixedWindow, limit.SlidingWindowLog, limit.SlidingWindowCounter} {
		for _, ahead := range []time.Duration{0, 10 * time.Millisecond, 100 * time.Millisecond, time.Second, 5 * time.Second} {
			for _, difference := range []time.Duration{ahead, -ahead} {
				counts := byWindow(skewed(t, skewRule(t, algorithm), difference))
				once := min(int(skewRate*ahead/time.Second), skewLimit)
				if algorithm == limit.SlidingWindowCounter && ahead > 0 { // which estimates
					once += 2 * skewLimit / skewSubWindows
				}
				if counts[0] > skewLimit+once+stale {
					t.Errorf("algorithm %d, %s ahead: %d in the first window", algorithm, difference, counts[0])
				}
				for _, count := range counts[1:] {
					if count > skewLimit+stale || count < skewLimit-stale {
						t.Errorf("algorithm %d, %s ahead: %v, not about %d after the first window", algorithm, difference, counts, skewLimit)
					}
				}
			}
		}
	}
}

func TestClocksThatDifferCostTheBucketsNothing(t *testing.T) {
	for _, algorithm := range []limit.Algorithm{limit.TokenBucket, limit.LeakyBucket, limit.GCRA} {
		for _, ahead := range []time.Duration{0, 100 * time.Millisecond, 5 * time.Second, 45 * time.Second} {
			for _, difference := range []time.Duration{ahead, -ahead} {
				admitted := len(skewed(t, skewRule(t, algorithm), difference))
				if entitled := skewBurst + skewWindows*skewLimit; admitted > entitled+stale || admitted < entitled-stale {
					t.Errorf("algorithm %d, %s ahead: admitted %d, not about %d", algorithm, difference, admitted, entitled)
				}
			}
		}
	}
}
