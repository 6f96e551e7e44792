package main

import (
	"strings"
	"testing"

	"patternbench.dev/crdt-sidecar/internal/limit"
)

func TestALeaseTakesItsShareOfWhatRemainsAndNotAllThatFits(t *testing.T) {
	c := dial(t, run(t))
	for algorithm := range limit.Names {
		leased := func(share string) string {
			answer := c.ask("PB.LEASE", "shared", algorithm, "100", window, "1000000", "0", share)
			return strings.Join(strings.Fields(answer)[:2], " ") // the amount and what remains; the rest depends on the time
		}
		for _, step := range [][2]string{
			{leased("100000"), "10 90"},
			{leased("100001"), "10 80"}, // 9.00009 units, rounded up
			{leased("1000000"), "80 0"},
			{leased("100000"), "0 0"},
		} {
			if step[0] != step[1] {
				t.Errorf("%s: %s, expected %s", algorithm, step[0], step[1])
			}
		}
	}
}

func TestALeaseOfATinyShareHoldsOneUnit(t *testing.T) {
	if answer := dial(t, run(t)).ask("PB.LEASE", "tiny", "fixed_window", "5", window, "3", "0", "1"); !strings.HasPrefix(answer, "1 4 ") {
		t.Errorf("leased %s", answer)
	}
}

func TestAShareOutsideItsRangeIsNamed(t *testing.T) {
	c := dial(t, run(t))
	for _, share := range []string{"0", "1000001"} {
		expected := "-ERR share_ppm is " + share + "; allowed: 1 to 1000000"
		if answer := c.ask("PB.LEASE", "k", "gcra", "1", "1000", "1", "0", share); answer != expected {
			t.Errorf("%s, expected %s", answer, expected)
		}
	}
}
