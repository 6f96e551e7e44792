package kit

import (
	"bytes"
	"encoding/json"
	"sync"
	"testing"
)

type line struct {
	Batch map[string][]any `json:"batch"`
}

func linesOf(t *testing.T, text []byte) []line {
	t.Helper()
	var lines []line
	decoder := json.NewDecoder(bytes.NewReader(text))
	for decoder.More() {
		var one line
		if err := decoder.Decode(&one); err != nil {
			t.Fatal(err)
		}
		lines = append(lines, one)
	}
	return lines
}

func TestABatchHasAColumnForEachFieldOfTheRows(t *testing.T) {
	var came rows
	came.add(row{user: 1, call: 2, attempt: 3, startUs: 4, durationUs: 5, outcome: 503})
	came.add(row{user: 6, call: 7, startUs: 8, outcome: rejected})
	const due = `{"batch":{"user":[1,6],"call":[2,7],"attempt":[3,0],"start_us":[4,8],"duration_us":[5,0],"outcome":[503,"rejected"]}}` + "\n"
	if text := string(appendLines(nil, came.take())); text != due {
		t.Errorf("seen %s", text)
	}
}

func TestWithoutRowsThereIsAnEmptyBatch(t *testing.T) {
	const due = `{"batch":{"user":[],"call":[],"attempt":[],"start_us":[],"duration_us":[],"outcome":[]}}` + "\n"
	if text := string(appendLines(nil, nil)); text != due {
		t.Errorf("seen %s", text)
	}
}

func TestABatchHasAtMostTenThousandRows(t *testing.T) {
	var sizes []int
	for _, one := range linesOf(t, appendLines(nil, make([]row, 2*mostRows+1))) {
		sizes = append(sizes, len(one.Batch["user"]))
	}
	expectEqual(t, sizes, []int{mostRows, mostRows, 1})
}

func TestRowsOfManyUsersAreTakenOnceEach(t *testing.T) {
	var all rows
	var users sync.WaitGroup
	seen := map[[2]int64]bool{}
	for number := range int64(8) {
		users.Go(func() {
			for call := range int64(1000) {
				all.add(row{user: number, call: call})
			}
		})
	}
	note := func() {
		for _, one := range all.take() {
			if seen[[2]int64{one.user, one.call}] {
				t.Errorf("row %v was taken twice", one)
			}
			seen[[2]int64{one.user, one.call}] = true
		}
	}
	for range 100 {
		note()
	}
	users.Wait()
	note()
	if len(seen) != 8000 || all.taken != 8000 {
		t.Errorf("%d rows, %d said to be taken", len(seen), all.taken)
	}
}
