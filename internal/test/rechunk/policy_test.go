// SPDX-License-Identifier: Apache-2.0

package rechunk

import (
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"testing"

	"pgregory.net/rapid"
	"varve.dev/zarr"
	"varve.dev/zarr/grid"
	"varve.dev/zarr/internal/own"
	"varve.dev/zarr/internal/test/fixture"
	"varve.dev/zarr/metadata"
	"varve.dev/zarr/rechunk"
	"varve.dev/zarr/store/memstore"
)

// withPolicy stores a growth policy with an array.
func withPolicy(t testing.TB, a *zarr.Array, policy string) {
	t.Helper()
	err := a.UpdateAttributes(t.Context(), func(object []byte) ([]byte, error) {
		return metadata.SetAttribute(object, own.Growth, fmt.Appendf(nil, `{"policy":%q,"time":"time"}`, policy))
	})
	if err != nil {
		t.Fatal(err)
	}
}

// policyOf returns the stored growth policy, or "".
func policyOf(t testing.TB, a *zarr.Array) string {
	t.Helper()
	now, err := a.Location().OpenArray(t.Context(), nil)
	if err != nil {
		t.Fatal(err)
	}
	raw, found, err := metadata.Attribute(now.Attributes(), own.Growth)
	if err != nil || !found {
		return ""
	}
	var stored struct{ Policy, Time string }
	if err := json.Unmarshal(raw, &stored); err != nil || stored.Time != "time" {
		t.Fatalf("%s: %v", raw, err)
	}
	return stored.Policy
}

// TestPolicies rechunks arrays with stored growth policies. A policy stays unless the new
// grid contradicts it.
func TestPolicies(t *testing.T) {
	hundreds := rechunk.Rechunking{Chunks: rechunk.Cuts(fixture.Edges(4, 4, 4).Chunks)}
	years := hundreds
	years.Calendar = "calendar:year"
	uneven := rechunk.Rechunking{Chunks: rechunk.Cuts(fixture.Edges(3, 5, 4).Chunks)}
	for _, c := range []struct {
		policy  string
		request rechunk.Request
		want    string
	}{
		{"fixed:1", rechunk.Compaction{UpTo: 4}, "fixed:1"}, // days are appended as before, and merged later
		{"calendar:month", rechunk.Compaction{UpTo: 4}, "calendar:month"},
		{"pattern:1,2", rechunk.Compaction{UpTo: 4}, "pattern:1,2"},
		{"append-one", rechunk.Regularization{Chunk: []int64{3}}, "append-one"},
		{"repeat-last", rechunk.Regularization{Chunk: []int64{3}}, "repeat-last"},
		{"fixed:1", rechunk.Regularization{Chunk: []int64{3}}, ""},
		{"calendar:month", rechunk.Regularization{Chunk: []int64{3}}, ""},
		{"fixed:1", hundreds, "fixed:4"},
		{"fixed:1", uneven, ""},
		{"calendar:month", hundreds, ""},
		{"calendar:month", years, "calendar:year"},
		{"fixed:1", years, "fixed:4"},
		{"pattern:3,5,4", uneven, "pattern:3,5,4"},
		{"pattern:3,5", uneven, ""},
		{"nonsense", uneven, "nonsense"}, // appends report it
	} {
		s := memstore.New()
		a := days(t, s, 12)
		withPolicy(t, a, c.policy)
		plan, err := rechunk.NewPlan(t.Context(), a, c.request, nil)
		if err != nil {
			t.Fatal(err)
		}
		r, err := rechunk.Do(t.Context(), a, c.request, nil)
		if err != nil || !r.Changed {
			t.Fatalf("%+v: %+v (%v)", c, r, err)
		}
		is := policyOf(t, a)
		if changed := is != c.policy; is != c.want || changed != (r.Policy != "") || plan.Policy != r.Policy {
			t.Errorf("%s, %+v: the policy is %q, want %q; reported %q, planned %q", c.policy, c.request, is, c.want, r.Policy, plan.Policy)
		}
		reads(t, s, fixture.Numbers(1, 12)...)
		// Going back, the policy comes back.
		if err := rechunk.Revert(t.Context(), a); err != nil || policyOf(t, a) != c.policy {
			t.Errorf("%s, %+v: reverted to %q (%v)", c.policy, c.request, policyOf(t, a), err)
		}
	}
}

// TestPolicyOfFormat2 removes a policy that regular chunks cannot follow. The attributes
// have a document of their own there.
func TestPolicyOfFormat2(t *testing.T) {
	s := memstore.New()
	spec := fixture.AsV2(zarr.Spec{Shape: []int64{4, 4}, Type: fixture.Edges(1).Type, Chunks: grid.Chunks(1, 2)})
	a, err := zarr.At(s, "a").CreateArray(t.Context(), spec, nil)
	if err == nil {
		err = zarr.Write(t.Context(), a, nil, fixture.Numbers(1, 16))
	}
	if err != nil {
		t.Fatal(err)
	}
	withPolicy(t, a, "fixed:1")
	r, err := rechunk.Do(t.Context(), a, rechunk.Compaction{UpTo: 2}, nil)
	if err != nil || !strings.Contains(r.Policy, "removed") || policyOf(t, a) != "" {
		t.Errorf("%+v (%v), the policy is %q", r, err, policyOf(t, a))
	}
	reads(t, s, fixture.Numbers(1, 16)...)
}

// TestPolicyAfterAnyRequest rechunks drawn arrays with drawn policies. If appends could
// follow the policy before, they can follow what is stored after, and the new chunks have
// the lengths that it says.
func TestPolicyAfterAnyRequest(t *testing.T) {
	kept, changed, removed := 0, 0, 0
	rapid.Check(t, func(rt *rapid.T) {
		s := memstore.New()
		n := int64(rapid.IntRange(1, 12).Draw(rt, "elements"))
		edges := rapid.SliceOfN(rapid.Int64Range(1, 4), 1, 6).Draw(rt, "edges")
		cut := func(lengths []int64) []grid.Cut {
			sum := int64(0)
			for _, e := range lengths {
				sum += e
			}
			if sum < n {
				lengths = append(slices.Clip(lengths), n-sum)
			}
			return fixture.Edges(lengths...).Chunks
		}
		spec := fixture.Edges(1)
		spec.Shape, spec.Chunks = []int64{n}, cut(edges)
		a, err := zarr.At(s, "a").CreateArray(rt.Context(), spec, nil)
		if err == nil {
			err = zarr.Write(rt.Context(), a, nil, fixture.Numbers(1, int32(n)))
		}
		if err != nil {
			rt.Fatal(err)
		}
		policy := rapid.SampledFrom([]string{"append-one", "repeat-last", "fixed:2", "fixed:3", "pattern:1,2", "pattern:2,2,1", "preplanned:[[2,40]]"}).Draw(rt, "policy")
		withPolicy(t, a, policy)
		g, err := grid.ParseGrowth(policy)
		if err != nil {
			rt.Fatal(err)
		}
		_, before := a.Grid().Axis(0).Grown(n+1, g)
		var request rechunk.Request
		switch rapid.IntRange(0, 2).Draw(rt, "request") {
		case 0:
			request = rechunk.Compaction{UpTo: rapid.Int64Range(2, 8).Draw(rt, "up to")}
		case 1:
			request = rechunk.Regularization{Chunk: []int64{rapid.Int64Range(1, 5).Draw(rt, "step")}}
		default:
			request = rechunk.Rechunking{Chunks: cut(rapid.SliceOfN(rapid.Int64Range(1, 4), 1, 6).Draw(rt, "new edges"))}
		}
		r, err := rechunk.Do(rt.Context(), a, request, nil)
		if err != nil {
			rt.Fatal(err)
		}
		is := policyOf(t, a)
		switch {
		case is == policy:
			kept++
		case is == "":
			removed++
		default:
			changed++
		}
		if is != policy && !r.Changed {
			rt.Fatalf("%s became %q, and nothing else changed", policy, is)
		}
		after := grid.AppendOne()
		if is != "" {
			if after, err = grid.ParseGrowth(is); err != nil {
				rt.Fatal(err)
			}
		}
		more := int32(rapid.IntRange(1, 5).Draw(rt, "more"))
		err = zarr.Append(rt.Context(), a, 0, fixture.Numbers(int32(n)+1, more), &zarr.AppendOptions{Grow: after})
		if err != nil && before == nil {
			rt.Fatalf("%+v: %s became %q, and an append: %v", request, policy, is, err)
		}
		if err == nil {
			reads(t, s, fixture.Numbers(1, int32(n)+more)...)
		}
		// The appended chunks continue those that a rechunking made.
		axis := a.Grid().Axis(0)
		if _, ok := request.(rechunk.Rechunking); ok && r.Changed && strings.HasPrefix(is, "fixed:") && !axis.IsRegular() {
			runs := slices.Collect(axis.Edges())
			if want := fmt.Sprintf("fixed:%d", runs[0].Length); is != want || len(runs) > 3 {
				rt.Fatalf("%+v: %s became %s, the edges are %v", request, policy, is, runs)
			}
		}
	})
	if testing.Verbose() {
		t.Logf("%d policies stayed, %d changed, %d were removed", kept, changed, removed)
	}
}
