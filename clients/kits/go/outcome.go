package kit

import (
	"strconv"
	"strings"
)

// Outcome is what became of an attempt, as one number: the status of an answer, or one of the names below.
type Outcome int

const (
	Timeout         Outcome = -1
	ConnectionError Outcome = -2
	rejected        Outcome = -3
)

// The answers that make a call successful, and those that HTTP has.
const (
	firstSuccess, lastSuccess Outcome = 200, 399
	firstStatus, lastStatus   Outcome = 100, 599
)

// IsSuccess says whether a call is successful whose last attempt had this outcome.
func (o Outcome) IsSuccess() bool { return firstSuccess <= o && o <= lastSuccess }

// ofStatus takes a status that HTTP does not have for no answer.
func ofStatus(status int) Outcome {
	if outcome := Outcome(status); firstStatus <= outcome && outcome <= lastStatus {
		return outcome
	}
	return ConnectionError
}

// String is the outcome's name, or its number.
func (o Outcome) String() string {
	switch o {
	case Timeout:
		return "timeout"
	case ConnectionError:
		return "connection_error"
	case rejected:
		return "rejected"
	}
	return strconv.Itoa(int(o))
}

// isIn says whether a failure that a retry names, as "503", "500-599" or a name, is meant.
func (o Outcome) isIn(failure string) bool {
	first, last, ranged := strings.Cut(failure, "-")
	from, err := strconv.Atoi(first)
	if err != nil {
		return o.String() == failure
	}
	to := from
	if ranged {
		if to, err = strconv.Atoi(last); err != nil {
			return false
		}
	}
	return Outcome(from) <= o && o <= Outcome(to)
}
