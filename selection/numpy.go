// SPDX-License-Identifier: Apache-2.0

package selection

import (
	"fmt"
	"regexp"
	"strings"
)

var (
	// calledSlice finds a slice that is written as a call: slice(3), slice(0, 3).
	calledSlice = regexp.MustCompile(`\bslice\(([^()]*)\)`)
	// newAxis finds what inserts an axis of length 1 in NumPy.
	newAxis = regexp.MustCompile(`(^|[,\s])(None|((np|numpy)\.)?newaxis)([,\s]|$)`)
	// placedList finds a list among items without names.
	placedList = regexp.MustCompile(`(^|,)\s*\[[^][]*\]`)
)

// numpyMeant returns the error for a text that NumPy would take in Python and that is
// refused here with err. Any other text keeps that error.
func numpyMeant(text string, err error) error {
	if plain := calledSlice.ReplaceAllStringFunc(text, withColons); plain != text {
		return fmt.Errorf("%w: %q: slices have colons (did you mean %s?)", ErrInvalid, text, plain)
	}
	switch {
	case newAxis.MatchString(text):
		return fmt.Errorf("%w: %q: a selection makes no new axes: leave None and newaxis out", ErrInvalid, text)
	case placedList.MatchString(text):
		return fmt.Errorf("%w: %q: lists are written in JSON, an entry an axis, as {\"orthogonal\": [[0, 2, 5], 0, \"1:3\"]}", ErrInvalid, text)
	}
	return err
}

// withColons returns the call of slice as text: slice(0, 3) is 0:3, and slice(3) is :3.
func withColons(call string) string {
	bounds := strings.Split(calledSlice.FindStringSubmatch(call)[1], ",")
	for i, b := range bounds {
		if bounds[i] = strings.TrimSpace(b); bounds[i] == "None" {
			bounds[i] = ""
		}
	}
	if len(bounds) == 1 {
		return ":" + bounds[0]
	}
	return strings.Join(bounds, ":")
}
