package kit

import (
	"slices"
	"strconv"
	"sync"
)

// mostRows is the most rows of one batch.
const mostRows = 10_000

// row is one attempt, or a rejected call with attempt 0; times in microseconds.
type row struct {
	user, call, attempt, startUs, durationUs int64
	outcome                                  Outcome
}

// rows are on their way from the users to the stream; safe for many goroutines.
type rows struct {
	mu      sync.Mutex
	waiting []row
	spare   []row
	taken   int64
}

func (r *rows) add(one row) {
	r.mu.Lock()
	r.waiting = append(r.waiting, one)
	r.mu.Unlock()
}

// take returns what has come in since the last time; it is good until the next.
func (r *rows) take() []row {
	r.mu.Lock()
	defer r.mu.Unlock()
	came := r.waiting
	r.waiting, r.spare = r.spare[:0], came
	r.taken += int64(len(came))
	return came
}

var columns = []struct {
	name   string
	append func([]byte, row) []byte
}{
	{"user", number(func(r row) int64 { return r.user })},
	{"call", number(func(r row) int64 { return r.call })},
	{"attempt", number(func(r row) int64 { return r.attempt })},
	{"start_us", number(func(r row) int64 { return r.startUs })},
	{"duration_us", number(func(r row) int64 { return r.durationUs })},
	{"outcome", appendOutcome},
}

func number(of func(row) int64) func([]byte, row) []byte {
	return func(line []byte, r row) []byte { return strconv.AppendInt(line, of(r), 10) }
}

func appendOutcome(line []byte, r row) []byte {
	if r.outcome < 0 {
		return strconv.AppendQuote(line, r.outcome.String())
	}
	return strconv.AppendInt(line, int64(r.outcome), 10)
}

// appendLines writes one line of the stream for at most mostRows rows each; one empty batch where there are none.
func appendLines(text []byte, came []row) []byte {
	if len(came) == 0 {
		return appendLine(text, came)
	}
	for batch := range slices.Chunk(came, mostRows) {
		text = appendLine(text, batch)
	}
	return text
}

func appendLine(text []byte, batch []row) []byte {
	opening := `{"batch":{"`
	for _, column := range columns {
		text = append(append(text, opening...), column.name...)
		text = append(text, `":[`...)
		for i, r := range batch {
			if i > 0 {
				text = append(text, ',')
			}
			text = column.append(text, r)
		}
		opening = `],"`
	}
	return append(text, "]}}\n"...)
}
