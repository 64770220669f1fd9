// SPDX-License-Identifier: Apache-2.0

package rechunk

import (
	"encoding/json"
	"fmt"
	"strings"
	"testing"
	"time"

	"pgregory.net/rapid"
	"varve.dev/zarr"
	"varve.dev/zarr/dtype"
	"varve.dev/zarr/grid"
	"varve.dev/zarr/internal/own"
	"varve.dev/zarr/internal/test/fixture"
	"varve.dev/zarr/internal/test/memtest"
	"varve.dev/zarr/metadata"
	"varve.dev/zarr/rechunk"
)

// firstDay is the stored start of the calendars in these tests.
var firstDay = time.Date(2020, 2, 27, 0, 0, 0, 0, time.UTC)

// withStart stores a calendar policy by days from firstDay on.
func withStart(t testing.TB, a *zarr.Array, policy string) {
	t.Helper()
	err := a.UpdateAttributes(t.Context(), func(object []byte) ([]byte, error) {
		return metadata.SetAttribute(object, own.Growth, fmt.Appendf(nil, `{"policy":%q,"start":%q,"step":"1d"}`, policy, firstDay.Format(time.DateOnly)))
	})
	if err != nil {
		t.Fatal(err)
	}
}

// startOf returns the stored start of an array in days since firstDay, and its policy.
func startOf(t testing.TB, a *zarr.Array) (int64, string) {
	t.Helper()
	now := fixture.Must(a.Location().OpenArray(t.Context(), nil))
	raw, found, err := metadata.Attribute(now.Attributes(), own.Growth)
	var stored struct{ Policy, Start, Step string }
	if err != nil || !found || json.Unmarshal(raw, &stored) != nil || stored.Step != "1d" {
		t.Fatalf("%s (%v)", raw, err)
	}
	at, err := time.Parse(time.DateOnly, stored.Start)
	if err != nil {
		t.Fatal(err)
	}
	return int64(at.Sub(firstDay) / (24 * time.Hour)), stored.Policy
}

// drawDays returns an array of days, of which the last chunk may have room.
func drawDays(rt *rapid.T, s memtest.Store) *zarr.Array {
	edges := rapid.SliceOfN(rapid.Int64Range(1, 9), 1, 5).Draw(rt, "edges")
	sum := int64(0)
	for _, e := range edges {
		sum += e
	}
	n := sum - rapid.Int64Range(0, edges[len(edges)-1]-1).Draw(rt, "room")
	a := fixture.Must(zarr.At(s, "a").CreateArray(rt.Context(), zarr.Spec{Shape: []int64{n}, Type: dtype.Int32, Chunks: []grid.Cut{grid.Edges(edges...)}}, nil))
	if err := zarr.Write(rt.Context(), a, nil, fixture.Numbers(0, int32(n))); err != nil {
		rt.Fatal(err)
	}
	return a
}

// TestGrowthStart drops, inserts, merges and reverts in drawn arrays with a calendar that
// is counted from a start. The edges after a move, and the elements after it that are not
// put into a chunk with room, have the times that they had before.
func TestGrowthStart(t *testing.T) {
	moved, stayed := 0, 0
	rapid.Check(t, func(rt *rapid.T) {
		a := drawDays(rt, memtest.New())
		withStart(t, a, "calendar:month")
		for range rapid.IntRange(1, 5).Draw(rt, "changes") {
			was, before := a.Grid().Axis(0), int64(0)
			before, _ = startOf(t, a)
			extent := was.Extent()
			var request rechunk.Request
			last := false // the change is at the end, where nothing comes after it
			switch rapid.IntRange(0, 2).Draw(rt, "request") {
			case 0:
				from := rapid.Int64Range(0, extent).Draw(rt, "from")
				to := rapid.Int64Range(from, extent).Draw(rt, "to")
				request, last = rechunk.Removal{Range: grid.Interval{Start: from, Stop: to}}, to == extent
			case 1:
				at, n := rapid.Int64Range(0, extent).Draw(rt, "at"), rapid.Int64Range(1, 7).Draw(rt, "planes")
				request, last = rechunk.Insertion{At: at, From: given([]int64{n}, fixture.Numbers(100, int32(n)))}, at == extent
			default:
				request, last = rechunk.Compaction{UpTo: rapid.Int64Range(2, 9).Draw(rt, "up to")}, true
			}
			report, err := rechunk.Do(rt.Context(), a, request, nil)
			if err != nil {
				rt.Fatal(err)
			}
			if err := a.Refresh(rt.Context()); err != nil {
				rt.Fatal(err)
			}
			is := a.Grid().Axis(0)
			start, policy := startOf(t, a)
			want := before
			if !last {
				want += was.Covered() - is.Covered()
			}
			if start != want || policy != "calendar:month" || (start != before) != strings.Contains(report.Policy, "start") {
				rt.Fatalf("%+v: the start moves from day %d to %d, want %d; %q", request, before, start, want, report.Policy)
			}
			if start != before {
				moved++
			} else {
				stayed++
			}
			if report.Changed && rapid.Bool().Draw(rt, "revert") {
				if err := rechunk.Revert(rt.Context(), a); err != nil {
					rt.Fatal(err)
				}
				if start, _ := startOf(t, a); start != before {
					rt.Fatalf("%+v: reverted to a start on day %d, want %d", request, start, before)
				}
			}
			if _, err := rechunk.Vacuum(rt.Context(), a, &rechunk.VacuumOptions{Grace: -1}); err != nil {
				rt.Fatal(err)
			}
			if err := a.Refresh(rt.Context()); err != nil {
				rt.Fatal(err)
			}
		}
	})
	if moved == 0 || stayed == 0 {
		t.Errorf("%d changes moved the start, %d did not", moved, stayed)
	}
}

// TestGrowthStartOfOthers moves the start of the axis of the policy only, and of every
// array of a group in one transaction. A policy that was set since the change keeps what
// was set, and gets back the start.
func TestGrowthStartOfOthers(t *testing.T) {
	s := memtest.New()
	a := fixture.Must(zarr.At(s, "a").CreateArray(t.Context(), zarr.Spec{Shape: []int64{6, 6}, Type: dtype.Int32, Chunks: []grid.Cut{grid.Edges(3, 3), grid.Edges(3, 3)}}, nil))
	withStart(t, a, "calendar:month")
	other := rechunk.Removal{Axis: 1, Range: grid.Interval{Stop: 2}}
	if r, err := rechunk.Do(t.Context(), a, other, nil); err != nil || r.Policy != "" {
		t.Errorf("%+v (%v)", r, err)
	}
	if start, _ := startOf(t, a); start != 0 {
		t.Errorf("after a change of another axis, the start is on day %d", start)
	}
	b := days(t, memtest.New(), 3)
	withStart(t, b, "calendar:month")
	b = fixture.Must(b.Location().OpenArray(t.Context(), nil))
	parts := []rechunk.Part{{Array: b, Request: rechunk.Removal{Range: grid.Interval{Stop: 2}}}}
	if _, err := rechunk.DoAll(t.Context(), parts, nil); err != nil {
		t.Fatal(err)
	}
	if start, _ := startOf(t, b); start != 2 {
		t.Errorf("after a transaction, the start is on day %d", start)
	}
	err := b.UpdateAttributes(t.Context(), func(object []byte) ([]byte, error) {
		return metadata.SetAttribute(object, own.Growth, []byte(strings.Replace(string(fixture.Must(growthRaw(object))), "month", "year", 1)))
	})
	if err == nil {
		err = rechunk.Revert(t.Context(), b)
	}
	if start, policy := startOf(t, b); err != nil || start != 0 || policy != "calendar:year" {
		t.Errorf("reverted to %s from day %d (%v)", policy, start, err)
	}
}

// growthRaw returns the stored growth policy among attributes.
func growthRaw(object []byte) ([]byte, error) {
	raw, _, err := metadata.Attribute(object, own.Growth)
	return raw, err
}
