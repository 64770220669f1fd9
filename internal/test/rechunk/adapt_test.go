// SPDX-License-Identifier: Apache-2.0

package rechunk

import (
	"bytes"
	"math"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"varve.dev/zarr"
	"varve.dev/zarr/codec"
	"varve.dev/zarr/dtype"
	"varve.dev/zarr/grid"
	"varve.dev/zarr/internal/test/memtest"
	"varve.dev/zarr/metadata"
	"varve.dev/zarr/rechunk"
	"varve.dev/zarr/store"
)

// measurements are smooth in the first half. The second half has records of ten numbers,
// out of sixteen records.
func measurements(n int) []float32 {
	r, v := rand.New(rand.NewPCG(1, 2)), make([]float32, 0, n)
	for i := range n / 2 {
		v = append(v, float32(280+15*math.Sin(float64(i)/2999)+r.Float64()/500))
	}
	for len(v) < n {
		record := 10 * r.IntN(16)
		for i := range 10 {
			v = append(v, float32(math.Sin(float64(record+i+1))))
		}
	}
	return v[:n]
}

// TestAdaptCodecs encodes an array anew with settings for each chunk, in chunks and in
// shards, once by the request and once by the option of the array. The settings differ,
// the metadata do not, the bytes agree, and readers without the option see the same
// elements.
func TestAdaptCodecs(t *testing.T) {
	want := measurements(1 << 17)
	adapted := func(adapt, option bool, r rechunk.Rechunking) map[string][]byte {
		r.Adapt = adapt && !option
		s := memtest.New()
		a, err := zarr.At(s, "a").CreateArray(t.Context(), zarr.Spec{
			Shape: []int64{1 << 17}, Type: dtype.Float32, Chunks: grid.Chunks(1 << 15),
		}, &zarr.CreateOptions{Options: zarr.Options{AdaptCodecs: adapt && option}})
		if err == nil {
			err = zarr.Write(t.Context(), a, nil, want)
		}
		if err != nil {
			t.Fatal(err)
		}
		report, err := rechunk.Do(t.Context(), a, r, nil)
		if err != nil || !report.Changed {
			t.Fatalf("%+v, %v", report, err)
		}
		b, err := zarr.At(s, "a").OpenArray(t.Context(), nil)
		if err != nil {
			t.Fatal(err)
		}
		if got, err := zarr.Read[float32](t.Context(), b, nil); err != nil || !slices.Equal(got.Data, want) {
			t.Errorf("other elements, %v", err)
		}
		if _, err := rechunk.Vacuum(t.Context(), a, &rechunk.VacuumOptions{Grace: -1}); err != nil {
			t.Fatal(err)
		}
		return stored(t, s)
	}
	little := codec.Bytes("little")
	codecs := []metadata.Extension{little, codec.Blosc(codec.BloscOptions{Level: 5, Element: 4})}
	for name, r := range map[string]rechunk.Rechunking{
		"chunks": {Codecs: codecs},
		"shards": {Codecs: codecs, Inner: rechunk.Cuts{grid.Every(1 << 14)}},
	} {
		plain, first, second := adapted(false, false, r), adapted(true, false, r), adapted(true, true, r)
		if !bytes.Equal(plain["a/zarr.json"], first["a/zarr.json"]) {
			t.Errorf("%s: other metadata", name)
		}
		var smaller []string
		for key, value := range first {
			if !bytes.Equal(value, second[key]) {
				t.Errorf("%s: %s differs when it is encoded again", name, key)
			}
			if len(value) < len(plain[key]) {
				smaller = append(smaller, key)
			}
		}
		slices.Sort(smaller)
		if want := []string{"a/2", "a/3"}; !slices.Equal(smaller, want) {
			t.Errorf("%s: %v are smaller than with one setting, want %v, which have records", name, smaller, want)
		}
	}
}

// stored returns what a store has, but for notes of rechunks.
func stored(t *testing.T, s memtest.Store) map[string][]byte {
	t.Helper()
	all := map[string][]byte{}
	for e, err := range s.List(t.Context(), store.Path{}, store.Deep) {
		if err != nil {
			t.Fatal(err)
		}
		if strings.Contains(e.Name, "__varve") {
			continue
		}
		value, _, err := s.Get(t.Context(), store.Path{}.MustKey(e.Name), store.Request{}, nil)
		if err != nil {
			t.Fatal(err)
		}
		all[e.Name] = value
	}
	return all
}
