// SPDX-License-Identifier: Apache-2.0

package main

import (
	"path/filepath"
	"strings"
	"testing"

	"varve.dev/zarr"
	"varve.dev/zarr/cmd/varve/internal/phrase"
	"varve.dev/zarr/internal/racing"
)

// calendarGroup returns a group with days from 2020-01-01 on, arrays that have them along
// their first, their second and no axis, one without names, and a scalar.
func calendarGroup(t *testing.T) string {
	g := filepath.Join(t.TempDir(), "g.zarr")
	must(t, "", "create", g, "--group")
	for name, flags := range map[string][]string{
		"time":      {"--shape", "90", "--dimension-names", "time", "--chunks", "[[[10,9]]]", "--attributes", `{"units": "days since 2020-01-01"}`},
		"first":     {"--shape", "90,40", "--dimension-names", "time,lat", "--chunks", "[[[10,9]],[[10,4]]]"},
		"second":    {"--shape", "40,90", "--dimension-names", "lat,time", "--chunks", "[[[10,4]],[[10,9]]]"},
		"lat":       {"--shape", "40", "--dimension-names", "lat", "--chunks", "[[[10,4]]]"},
		"scalar":    {"--shape", ""},
		"auxiliary": {"--shape", "90", "--dimension-names", "time", "--attributes", `{"units": "days since 2020-01-01"}`},
	} {
		must(t, "", append([]string{"create", g + "/" + name, "--dtype", "int32"}, flags...)...)
	}
	for _, name := range []string{"time", "auxiliary"} {
		must(t, numbers(0, 90), "write", g+"/"+name, "--format", "json", "-")
	}
	return g
}

// chunksOf returns the chunks of an array in words.
func chunksOf(t *testing.T, node string) string {
	a := must1(zarr.OpenArray(t.Context(), node, nil))
	defer a.Close()
	return phrase.Chunks(a.Grid())
}

// TestCalendarAxis gives calendars to every command that cuts or merges by them. Only the
// axis that has the dimension of the coordinate is concerned: other arrays of a group
// stay, and an axis that is named explicitly is refused. What is refused changes nothing.
func TestCalendarAxis(t *testing.T) {
	racing.Skip(t)
	before := map[string]string{}
	names := []string{"time", "first", "second", "lat"}
	for _, c := range []struct {
		line  string            // G is the group
		want  map[string]string // chunks that differ afterwards
		error string
	}{
		{"compact G --to calendar:month --time time", map[string]string{"time": "30, 10, 20, 30", "first": "30, 10, 20, 30 | 10×4", "second": "10×4 | 30, 10, 20, 30"}, ""},
		{"compact G --to calendar:month --time auxiliary", map[string]string{"time": "30, 10, 20, 30", "first": "30, 10, 20, 30 | 10×4", "second": "10×4 | 30, 10, 20, 30"}, ""},
		{"compact G --to calendar:month --axis time --time time", map[string]string{"time": "30, 10, 20, 30", "first": "30, 10, 20, 30 | 10×4", "second": "10×4 | 30, 10, 20, 30"}, ""},
		{"compact G --to calendar:month --axis 0 --time time", map[string]string{"time": "30, 10, 20, 30", "first": "30, 10, 20, 30 | 10×4"}, ""},
		{"compact G/second --to calendar:month --time time", map[string]string{"second": "10×4 | 30, 10, 20, 30"}, ""},
		{"compact G --to calendar:month --axis lat --time time", nil, "this axis is lat: a calendar is only for the axis of its times"},
		{"compact G/second --to calendar:month --axis 0 --time time", nil, "has the times along time, but this axis is lat"},
		{"compact G/lat --to calendar:month --time time", nil, "no axis has its dimension; there are lat"},
		{"compact G --to calendar:month --start 2020-01-01 --step 1d", nil, "give --axis"},
		{"compact G --to calendar:month", nil, "needs the times of the elements"},
		{"rechunk G --chunks calendar:month --time time", map[string]string{"time": "31, 29, 30", "first": "31, 29, 30 | 40", "second": "40 | 31, 29, 30"}, ""},
		{"rechunk G/second --chunks calendar:month --time time", map[string]string{"second": "40 | 31, 29, 30"}, ""},
		{"rechunk G/second --chunks calendar:month,-1 --time time", nil, "this axis is lat"},
		{"rechunk G/lat --chunks calendar:month --time time", nil, "no axis has its dimension"},
		{"rechunk G --chunks calendar:month --start 2020-01-01 --step 1d", nil, "give --time COORD"},
		{"rechunk G --chunks 1 --shards calendar:month --time time", map[string]string{"time": "31, 29, 30", "first": "31, 29, 30 | 40", "second": "40 | 31, 29, 30"}, ""},
		{"rechunk G/first --chunks 1,20 --shards calendar:month --start 2020-01-01 --step 1d", map[string]string{"first": "31, 29, 30 | 40"}, ""},
		{"rechunk G/first --chunks 1,20 --shards calendar:month", nil, "--shards calendar:month needs the times of the elements"},
		{"rechunk G/first --chunks 1,20 --shards 30,20 --time time", nil, "--time is only for"},
		{"rechunk G/first --compressor gzip:1 --time time", nil, "--time is only for --chunks calendar:month"},
		{"regularize G --chunks calendar:month", nil, "regular chunks have one length per axis"},
		{"regularize G --chunks auto", nil, "regular chunks have one length per axis"},
		{"create G/new --shape 40,90 --dtype int8 --dimension-names lat,time --chunks calendar:month --time time", map[string]string{"new": "40 | 31, 29, 30"}, ""},
		{"create G/new --shape 40,90 --dtype int8 --dimension-names lat,time --chunks calendar:month,-1 --time time", nil, "this axis is lat"},
		{"create G/new --shape 40 --dtype int8 --dimension-names lat --chunks calendar:month --time time", nil, "no axis has its dimension"},
		{"create G/new --shape 40 --dtype int8 --dimension-names lat --grow calendar:month --time time --chunks [[40]]", nil, "no axis has its dimension"},
		{"append G/second --axis lat --grow calendar:month --time time --alone G/second", nil, "this axis is lat"},
		{"append G second=G/second lat=G/lat --axis lat --grow calendar:month --time time --alone", nil, "this axis is lat"},
		{"resize G/lat --shape 50 --grow calendar:month --time time --alone", nil, "no axis has its dimension"},
	} {
		g := calendarGroup(t)
		for _, name := range names {
			before[name] = chunksOf(t, g+"/"+name)
		}
		var args []string
		for word := range strings.FieldsSeq(c.line) {
			word = strings.Replace(word, "=G/", "="+g+"/", 1)
			if word == "G" || strings.HasPrefix(word, "G/") {
				word = g + word[1:]
			}
			args = append(args, word)
		}
		_, stderr, status := execute(t, "", args...)
		if (status != 0) != (c.error != "") || !strings.Contains(stderr, c.error) {
			t.Errorf("%s: status %d, %s, want %q", c.line, status, stderr, c.error)
		}
		for _, name := range names {
			want, changes := c.want[name]
			if !changes {
				want = before[name]
			}
			if got := chunksOf(t, g+"/"+name); got != want {
				t.Errorf("%s: the chunks of %s are %s, want %s", c.line, name, got, want)
			}
		}
		if want := c.want["new"]; want != "" && chunksOf(t, g+"/new") != want {
			t.Errorf("%s: the chunks are %s, want %s", c.line, chunksOf(t, g+"/new"), want)
		}
	}
}

// TestCalendarAxisOfCodecs changes the codecs of all arrays of a group, and the chunks of
// those with times.
func TestCalendarAxisOfCodecs(t *testing.T) {
	racing.Skip(t)
	g := calendarGroup(t)
	was := chunksOf(t, g+"/lat")
	must(t, "", "rechunk", g, "--chunks", "calendar:month", "--time", "time", "--compressor", "gzip:1")
	if got := chunksOf(t, g+"/lat"); got != was || !strings.Contains(must(t, "", "info", g+"/lat"), "gzip") || chunksOf(t, g+"/first") != "31, 29, 30 | 40" {
		t.Errorf("%s, want %s; %s", got, was, must(t, "", "info", g+"/lat"))
	}
}

// TestCalendarGrowthAxis stores the policy of an array whose times are along its second
// axis, and appends a month there.
func TestCalendarGrowthAxis(t *testing.T) {
	racing.Skip(t)
	g := calendarGroup(t)
	_, stderr, status := execute(t, "", "create", g+"/new", "--shape", "2,0", "--dtype", "int32", "--dimension-names", "lat,time", "--chunks", "calendar:month", "--grow", "calendar:month", "--time", "time")
	if status != 0 {
		t.Fatal(stderr)
	}
	row := strings.Repeat("1,", 69) + "1"
	if _, stderr, status = execute(t, "[["+row+"],["+row+"]]", "append", g+"/new", "--axis", "time", "--alone", "--format", "json", "-"); status != 0 {
		t.Fatal(stderr)
	}
	if got := chunksOf(t, g+"/new"); got != "2 | 31, 29, 10" {
		t.Errorf("chunks %s", got)
	}
}
