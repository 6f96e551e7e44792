package kit

import (
	"testing"
	"time"
)

func TestAUserWhoThinksLongerThanTheRoundLastsEndsWithTheRound(t *testing.T) {
	const limit = 20 * time.Millisecond
	alarm := alarmOf(t)
	late := time.AfterFunc(10*time.Second, alarm.close)
	thinking := &user{
		round: Round{ThinkTimeUs: time.Hour.Microseconds(), TimeLimitUs: limit.Microseconds()},
		clock: clock{start: time.Now()},
		alarm: alarm,
	}
	thinking.pause(thinking.round.ThinkTimeUs)
	if !late.Stop() {
		t.Error("the user still thinks after the round's end")
	}
	if thinking.clock.elapsedUs() < limit.Microseconds() {
		t.Error("the user ends before the round does")
	}
}
