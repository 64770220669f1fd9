// SPDX-License-Identifier: Apache-2.0

package grid

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"pgregory.net/rapid"
	"varve.dev/zarr/internal/strictjson"
)

// TestPacked compares lists that are read from their text with packed ones: their runs,
// their measure, and their first fault with its position.
func TestPacked(t *testing.T) {
	entries := rapid.SampledFrom([]string{
		"1", "7", "12345678", "1234567890", "4.0", "[5, 2]", "[ 3,4 ]", "[1, 1000000000000]", "[3, 4.0]", "9223372036854775807", "[2, 9223372036854775807]",
		"0", "-1", "[0, 1]", "[1, 0]", "[1, -1]", "[1]", "[1, 2, 3]", "1.5", "null", `"1"`, "[1, null]",
	})
	rapid.Check(t, func(t *rapid.T) {
		list := rapid.SliceOf(entries).Draw(t, "list")
		if rapid.Bool().Draw(t, "sound") {
			list = slices.DeleteFunc(list, func(e string) bool { return strings.ContainsAny(e, "-n\"") || strings.Contains(e, "0,") })
		}
		v, err := strictjson.Parse([]byte(" ["+strings.Join(list, ", ")+"]"), strictjson.Limits{})
		if err != nil {
			t.Fatal(err)
		}
		got, gotMeasure, gotErr := runsOf(listSource(v))
		want, wantMeasure, wantErr := runsOf(spelledSource(v))
		if !slices.Equal(got, want) || gotMeasure != wantMeasure || fmt.Sprint(gotErr) != fmt.Sprint(wantErr) {
			t.Fatalf("%v: %v, %v and %v; from the text %v, %v and %v", list, got, gotMeasure, gotErr, want, wantMeasure, wantErr)
		}
	})
}

func runsOf(source runSource) (runs []Run, m measure, err error) {
	if m, err = measured(source); err != nil {
		return nil, m, err
	}
	return runs, m, source(func(length, count int64) error {
		runs = append(runs, Run{length, count})
		return nil
	})
}
