// SPDX-License-Identifier: Apache-2.0

package rechunk_test

import (
	"strings"
	"testing"

	"varve.dev/zarr"
	"varve.dev/zarr/rechunk"
	"varve.dev/zarr/store/memstore"
)

// TestState compares an array with the one that a plan was made from.
func TestState(t *testing.T) {
	s := memstore.New()
	a, request := rows(t, s)
	opt := rechunk.Options{Memory: 4 * 4 * 16}.PlanStages(1)
	check := func(plan *rechunk.Plan, want string) {
		t.Helper()
		got, err := plan.State.Changes(t.Context(), again(t, s), plan.Fingerprint, opt)
		if err != nil || (got == "") != (want == "") || !strings.Contains(got, want) {
			t.Errorf("%q (%v), want %q", got, err, want)
		}
	}
	plan := func() *rechunk.Plan { return must1(rechunk.NewPlan(t.Context(), again(t, s), request, opt)) }
	first := plan()
	check(first, "")
	if err := a.UpdateAttributes(t.Context(), func([]byte) ([]byte, error) { return []byte(`{"title": "x"}`), nil }); err != nil {
		t.Fatal(err)
	}
	check(first, "")
	// A value of the same length.
	if err := zarr.Write(t.Context(), a, nil, make([]int32, 64)); err != nil {
		t.Fatal(err)
	}
	check(first, "deleted")
	for _, x := range []int32{3, 4} {
		now := make([]int32, 64)
		for i := range now {
			now[i] = x
		}
		first = plan()
		if err := zarr.Write(t.Context(), a, nil, now); err != nil {
			t.Fatal(err)
		}
		check(first, "written")
	}
	second := plan()
	if _, err := rechunk.Stage(t.Context(), again(t, s), request, rechunk.Share{}, opt); err != nil {
		t.Fatal(err)
	}
	check(second, "")
	if err := a.Resize(t.Context(), []int64{9, 8}, nil); err != nil {
		t.Fatal(err)
	}
	check(second, "metadata")
}
