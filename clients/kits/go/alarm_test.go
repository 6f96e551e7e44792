package kit

import (
	"testing"
	"time"
)

func alarmOf(t *testing.T) *alarm {
	t.Helper()
	alarm, err := newAlarm()
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(alarm.close)
	return alarm
}

func TestAPauseIsNeverShorterThanItsTime(t *testing.T) {
	alarm := alarmOf(t)
	for _, pause := range []time.Duration{-1, 0, 1, 300 * time.Microsecond, 1700 * time.Microsecond} {
		began := time.Now()
		alarm.wait(pause)
		if lasted := time.Since(began); lasted < pause {
			t.Errorf("%v instead of %v", lasted, pause)
		}
	}
}

func TestClosingAnAlarmEndsItsPauseAndEveryLaterOne(t *testing.T) {
	alarm := alarmOf(t)
	ended := make(chan struct{})
	go func() {
		alarm.wait(time.Hour)
		alarm.wait(time.Hour)
		close(ended)
	}()
	time.Sleep(time.Millisecond)
	alarm.close()
	select {
	case <-ended:
	case <-time.After(10 * time.Second):
		t.Error("it still waits")
	}
}
