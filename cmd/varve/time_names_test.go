// SPDX-License-Identifier: Apache-2.0

package main

import (
	"cmp"
	"path/filepath"
	"strconv"
	"strings"
	"testing"
	"time"
)

// TestPictureNamesMonths draws arrays whose times come from a coordinate, in both formats
// and all calendars, or from the calendar stored with them.
func TestPictureNamesMonths(t *testing.T) {
	tests := []struct {
		name, shape, chunks string
		units, calendar     string
		more                []string // flags of the array
		want, not           []string
	}{
		{"months", "100", "[[31,28,31,10]]", "days since 2021-01-01", "", nil, []string{"Jan 2021", "Feb 2021", "Mar 2021", "1–10 Apr 2021"}, nil},
		{"regular", "91", "[45]", "days since 2021-01-01", "", nil, []string{"1 Jan–14 Feb 2021", "15 Feb–31 Mar 2021"}, nil},
		{"format 2", "59", "[31]", "days since 2021-01-01", "", []string{"--zarr-format", "2"}, []string{"Jan 2021", "Feb 2021"}, nil},
		{"years", "1096", "[[365,365,366]]", "days since 2022-01-01", "", nil, []string{"2022", "2023", "2024"}, []string{"Dec"}},
		{"quarters", "24", "[[12,3,9]]", "months since 2021-01-15", "360_day", nil, []string{"2021", "Jan–Mar 2022", "Apr–Dec 2022"}, nil},
		{"30th of February", "60", "[30]", "days since 2021-01-01", "360_day", nil, []string{"Jan 2021", "Feb 2021"}, nil},
		{"hours", "60", "[[24,36]]", "hours since 2021-12-31", "", nil, []string{"31 Dec 2021", "1–2 Jan 2022"}, nil},
		{"no times", "60", "[30]", "metres", "", nil, nil, []string{"Jan"}},
		{"stored calendar", "59", "calendar:month", "", "", []string{"--start", "2021-01-01", "--step", "1d", "--grow", "calendar:month"}, []string{"Jan 2021", "Feb 2021"}, nil},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			group := filepath.Join(t.TempDir(), "g.zarr")
			format := []string{}
			if len(test.more) > 0 && test.more[0] == "--zarr-format" {
				format = test.more
			}
			must(t, "", append([]string{"create", group, "--group"}, format...)...)
			names := []string{"--shape", test.shape, "--dimension-names", "time"}
			must(t, "", append(append([]string{"create", group + "/a", "--dtype", "int8", "--chunks", test.chunks}, names...), test.more...)...)
			if test.units != "" {
				must(t, "", append(append([]string{"create", group + "/time", "--dtype", "int32",
					"--attributes", `{"units": "` + test.units + `", "calendar": "` + cmp.Or(test.calendar, "standard") + `"}`}, names...), format...)...)
				must(t, numbers(0, must1(strconv.Atoi(test.shape))), "write", group+"/time", "--format", "json")
			}
			picture := must(t, "", "grid", group+"/a", "--svg", "-")
			for _, name := range test.want {
				if !strings.Contains(picture, ">"+name+"</text>") {
					t.Errorf("%q is missing in\n%s", name, picture)
				}
			}
			for _, name := range test.not {
				if strings.Contains(picture, name) {
					t.Errorf("%q is in\n%s", name, picture)
				}
			}
		})
	}
}

// TestPictureNamesFallingMoments draws an array whose coordinate is datetime64, in
// descending order.
func TestPictureNamesFallingMoments(t *testing.T) {
	group := filepath.Join(t.TempDir(), "g.zarr")
	var days []string
	for day := time.Date(2021, 2, 28, 0, 0, 0, 0, time.UTC); day.Year() == 2021; day = day.AddDate(0, 0, -1) {
		days = append(days, day.Format(`"2006-01-02"`))
	}
	must(t, "", "create", group+"/time", "--shape", "59", "--dtype", "M8[D]", "--dimension-names", "time")
	must(t, "["+strings.Join(days, ",")+"]", "write", group+"/time", "--format", "json")
	must(t, "", "create", group+"/a", "--shape", "59", "--dtype", "int8", "--chunks", "[[28,21,10]]", "--dimension-names", "time")
	picture := must(t, "", "grid", group+"/a", "--svg", "-")
	for _, name := range []string{"Feb 2021", "11–31 Jan 2021", "1–10 Jan 2021"} {
		if !strings.Contains(picture, ">"+name+"</text>") {
			t.Errorf("%q is missing in\n%s", name, picture)
		}
	}
}
