// SPDX-License-Identifier: Apache-2.0

package protocol

import (
	"bytes"
	"path/filepath"
	"slices"
	"testing"
)

func TestParse(t *testing.T) {
	r, err := Parse([]string{"program", `{"work":"read-all","store":"x.zarr","concurrency":4,"sync":true}`})
	if err != nil || r.Work != ReadAll || r.Store != "x.zarr" || r.Concurrency != 4 || !r.Sync {
		t.Errorf("%+v, %v", r, err)
	}
	for _, args := range [][]string{{"program"}, {"program", "a", "b"}, {"program", "{"}} {
		if _, err := Parse(args); err == nil {
			t.Errorf("no error for %q", args)
		}
	}
}

func TestAnswer(t *testing.T) {
	var b bytes.Buffer
	if err := (Answer{Seconds: 0.5, Bytes: 8, Checksum: "00"}).Print(&b); err != nil || b.String() != `{"seconds":0.5,"cpu":0,"bytes":8,"checksum":"00"}`+"\n" {
		t.Errorf("%q, %v", b.String(), err)
	}
}

// TestSum checks that the sum depends on the positions of items and on every byte
// within the limit, but not on the order of arrival.
func TestSum(t *testing.T) {
	of := func(limit int64, items ...string) string {
		s := Sum{Limit: limit}
		for i := len(items) - 1; i >= 0; i-- {
			s.Add(i, []byte(items[i]))
		}
		return s.String()
	}
	if got := of(0, "123456789"); got != "00000000cbf43926" {
		t.Errorf("sum %s", got)
	}
	var s Sum
	s.Add(0, []byte("a"))
	s.Add(1, []byte("b"))
	if of(0, "a", "b") != s.String() || of(0, "b", "a") == s.String() || of(1, "ax", "by") != s.String() || of(0, "ax", "b") == s.String() {
		t.Error("the sum does not tell items apart")
	}
	if s.Bytes() != 2 {
		t.Errorf("%d bytes, want 2", s.Bytes())
	}
}

func TestNumbers(t *testing.T) {
	name := filepath.Join(t.TempDir(), "n")
	want := [][]int64{{1, 2, 3}, {-4, 5, 1 << 40}}
	if err := WriteNumbers(name, want); err != nil {
		t.Fatal(err)
	}
	got, err := Numbers(name, 3)
	if err != nil || !slices.EqualFunc(got, want, slices.Equal) {
		t.Errorf("%v, %v", got, err)
	}
	if _, err := Numbers(name, 4); err == nil {
		t.Error("no error for rows of 4")
	}
	if _, err := Numbers(name, 0); err == nil {
		t.Error("no error for rows of 0")
	}
}

func TestRepeat(t *testing.T) {
	n := 0
	if seconds, _, err := Repeat(func() error { n++; return nil }); err != nil || n < 2 || seconds > Least {
		t.Errorf("%d times, %v s, %v", n, seconds, err)
	}
}

func TestMedian(t *testing.T) {
	for _, c := range []struct {
		values []float64
		want   float64
	}{{nil, 0}, {[]float64{3}, 3}, {[]float64{3, 1}, 2}, {[]float64{9, 1, 5}, 5}, {[]float64{4, 1, 3, 2}, 2.5}} {
		if got := Median(c.values); got != c.want {
			t.Errorf("median(%v) = %v, want %v", c.values, got, c.want)
		}
	}
}
