// SPDX-License-Identifier: Apache-2.0

package httpstore_test

import (
	"net/http"
	"testing"
	"testing/synctest"
	"time"

	"varve.dev/zarr/store/httpstore"
)

// TestDates asks for the time of a value by answers whose clocks differ. The one that is
// furthest behind counts, until some minutes have passed without it. Before any date, the
// time is taken as it is.
func TestDates(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := open(t, "http://example.test", httpstore.Options{})
		written := time.Now().Add(-time.Hour)
		if at := s.Local(http.Header{})(written); !at.Equal(written) {
			t.Errorf("before any date the value is of %v, want %v", at, written)
		}
		if at := s.Local(http.Header{})(time.Now().Add(time.Hour)); !at.Equal(time.Now()) {
			t.Errorf("before any date a value of the future is of %v", at)
		}
		for _, c := range []struct {
			wait, skew, age time.Duration // of the value then, as far as is known
		}{
			{0, 0, time.Hour},
			{time.Minute, 5 * time.Hour, 61 * time.Minute},
			{time.Minute, -30 * time.Minute, 32 * time.Minute},
			{time.Minute, 0, 33 * time.Minute},
			{time.Minute, -5 * time.Hour, 0},
			{4 * time.Minute, 0, 0},
			{6 * time.Minute, 0, 74 * time.Minute},
			{24 * time.Hour, 0, 24*time.Hour + 74*time.Minute},
		} {
			time.Sleep(c.wait)
			h := http.Header{"Date": {time.Now().Add(c.skew).UTC().Format(http.TimeFormat)}}
			if age := time.Since(s.Local(h)(written)); age != c.age {
				t.Errorf("%v later, by a date that is %v ahead, the value is %v old, want %v", c.wait, c.skew, age, c.age)
			}
		}
		if at := s.Local(http.Header{})(written); !at.IsZero() {
			t.Errorf("without a date, after others, the value is of %v", at)
		}
	})
}

// TestDatesOfPage asks for the times of two values of one answer, with a long pause in
// between. The pause is no difference of the clocks.
func TestDatesOfPage(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := open(t, "http://example.test", httpstore.Options{})
		written := time.Now().Add(-time.Hour)
		local := s.Local(http.Header{"Date": {time.Now().UTC().Format(http.TimeFormat)}})
		for range 2 {
			if at := local(written); !at.Equal(written) {
				t.Errorf("the value is of %v, want %v", at, written)
			}
			time.Sleep(time.Minute)
		}
	})
}
