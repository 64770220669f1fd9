// SPDX-License-Identifier: Apache-2.0

package interop

import (
	"math"
	"testing"

	"varve.dev/zarr"
	"varve.dev/zarr/dtype"
	"varve.dev/zarr/grid"
	"varve.dev/zarr/selection"
	"varve.dev/zarr/store"
	"varve.dev/zarr/store/memstore"
)

// hostileText runs a script if a page takes it for HTML.
const hostileText = `<img src=x onerror="window.hacked=1"><script>window.hacked=1</script>"'&amp;`

// pageNodes makes a group with arrays of the kinds that the page shows.
func pageNodes(t *testing.T) *zarr.Location {
	s := memstore.New()
	root := zarr.At(s, "")
	_, err := root.CreateGroup(t.Context(), map[string]any{"title": "A small planet"}, nil)
	check(t, err)
	climate(t, root)
	kinds(t, root)
	oddities(t, root, s)
	return root
}

func made(t *testing.T, root *zarr.Location, name string, spec zarr.Spec) *zarr.Array {
	t.Helper()
	a, err := root.At(name).CreateArray(t.Context(), spec, nil)
	check(t, err)
	return a
}

func filled[T dtype.Element](t *testing.T, a *zarr.Array, element func(i int) T) *zarr.Array {
	t.Helper()
	n := 1
	for _, k := range a.Shape() {
		n *= int(k)
	}
	data := make([]T, n)
	for i := range data {
		data[i] = element(i)
	}
	check(t, zarr.Write(t.Context(), a, nil, data))
	return a
}

var (
	climateNames = []string{"time", "lat", "lon"}
	monthDays    = []int64{31, 29, 31, 30, 31, 30, 31, 31, 30, 31, 30, 31}
)

// warmth is the temperature of an element of the climate, in kelvin.
func warmth(day, lat, lon int) float32 {
	y := 90 - 2.5*(float64(lat)+0.5)
	return float32(288 - 0.006*y*y + 9*math.Sin(y/25)*math.Cos(2*math.Pi*float64(day)/366) + 3*math.Sin(float64(lon)/9+float64(lat)/7) + 2*math.Cos(float64(lon)/4))
}

// climate makes variables of one day each of a leap year, whose chunks are months.
func climate(t *testing.T, root *zarr.Location) {
	filled(t, made(t, root, "time", zarr.Spec{Shape: []int64{366}, Type: dtype.Int32, Chunks: grid.Chunks(366), DimensionNames: climateNames[:1],
		Attributes: map[string]any{"units": "days since 2024-01-01", "calendar": "proleptic_gregorian", "standard_name": "time", "axis": "T"}}), func(i int) int32 { return int32(i) })
	filled(t, made(t, root, "lat", zarr.Spec{Shape: []int64{72}, Type: dtype.Float64, Chunks: grid.Chunks(72), DimensionNames: climateNames[1:2],
		Attributes: map[string]any{"units": "degrees_north", "standard_name": "latitude"}}), func(i int) float64 { return 90 - 2.5*(float64(i)+0.5) })
	filled(t, made(t, root, "lon", zarr.Spec{Shape: []int64{144}, Type: dtype.Float64, Chunks: grid.Chunks(144), DimensionNames: climateNames[2:],
		Attributes: map[string]any{"units": "degrees_east", "standard_name": "longitude"}}), func(i int) float64 { return 2.5 * float64(i) })
	spec := zarr.Spec{Shape: []int64{366, 72, 144}, Type: dtype.Float32, Chunks: []grid.Cut{grid.Edges(monthDays...), grid.Edges(8, 16, 24, 24), grid.Every(48)},
		DimensionNames: climateNames, Attributes: map[string]any{"units": "K", "long_name": "Air temperature at 2 m"}}
	at := func(i int) (int, int, int) { return i / (72 * 144), i / 144 % 72, i % 144 }
	filled(t, made(t, root, "t2m", spec), func(i int) float32 { return warmth(at(i)) })
	spec.Attributes = map[string]any{"units": "K", "long_name": "Skin temperature"}
	filled(t, made(t, root, "skt", spec), func(i int) float32 {
		day, lat, lon := at(i)
		return warmth(day, lat, lon) + 2*float32(math.Sin(float64(lat*lon)/300))
	})
	// The sea surface has NaN on land, missing values under ice, and no April at all.
	spec.FillValue, spec.Attributes = zarr.FillJSON("-9"), map[string]any{"units": "K", "long_name": "Sea surface temperature", "_FillValue": -999.0}
	sst := made(t, root, "sst", spec)
	for month, day := 0, 0; month < len(monthDays); month++ {
		n := int(monthDays[month])
		data := make([]float32, n*72*144)
		for i := range data {
			d, lat, lon := at(i)
			switch {
			case math.Sin(float64(lon)/17)+math.Cos(float64(lat)/11) > 1.1:
				data[i] = float32(math.NaN())
			case lat < 6:
				data[i] = -999
			case lat > 66:
				data[i] = -9
			default:
				data[i] = warmth(day+d, lat, lon)
			}
		}
		if month != 3 {
			check(t, zarr.Write(t.Context(), sst, selection.Box{{int64(day), int64(day + n)}, {0, 72}, {0, 144}}, data))
		}
		day += n
	}
}

// kinds makes an array of each kind of element.
func kinds(t *testing.T, root *zarr.Location) {
	filled(t, made(t, root, "shards", zarr.Spec{Shape: []int64{1000, 1200}, Type: dtype.Uint16, Chunks: grid.Chunks(500, 600), InnerChunks: grid.Chunks(100, 150), DimensionNames: []string{"y", "x"}}),
		func(i int) uint16 {
			y, x := float64(i/1200-500), float64(i%1200-600)
			return uint16(30000 + 20000*math.Cos(math.Hypot(y, x)/40)*math.Exp(-math.Hypot(y, x)/500))
		})
	filled(t, made(t, root, "image", zarr.Spec{Shape: []int64{200, 300, 3}, Type: dtype.Uint8, Chunks: grid.Chunks(100, 100, 3), DimensionNames: []string{"y", "x", "channel"}}),
		func(i int) uint8 { return uint8(i / 3 % 300 * (1 + i%3) / 2) })
	filled(t, made(t, root, "landuse", zarr.Spec{Shape: []int64{120, 240}, Type: dtype.Uint8, Chunks: grid.Chunks(40, 60), DimensionNames: []string{"y", "x"},
		Attributes: map[string]any{"flag_values": []int{0, 1, 2, 3}, "flag_meanings": "water forest fields town", "long_name": "Land use"}}),
		func(i int) uint8 { return uint8(2*math.Sin(float64(i%240)/20)+2*math.Cos(float64(i/240)/13)+2) % 4 })
	filled(t, made(t, root, "mask", zarr.Spec{Shape: []int64{60, 80}, Type: dtype.Bool, Chunks: grid.Chunks(20, 20)}), func(i int) bool { return (i/80-30)*(i/80-30)+(i%80-40)*(i%80-40) < 500 })
	filled(t, made(t, root, "wave", zarr.Spec{Shape: []int64{64, 96}, Type: dtype.Complex64, Chunks: grid.Chunks(32, 32)}), func(i int) complex64 {
		sin, cos := math.Sincos(float64(i%96)/8 + float64(i/96)/11)
		return complex(float32(cos)*float32(i%96), float32(sin)*float32(i%96))
	})
	filled(t, made(t, root, "deviation", zarr.Spec{Shape: []int64{40, 50}, Type: dtype.Int16, Chunks: []grid.Cut{grid.Edges(5, 10, 25), grid.Every(20)}}), func(i int) int16 { return int16(i - 1000) })
	filled(t, made(t, root, "seconds", zarr.Spec{Shape: []int64{200000}, Type: dtype.Float32, Chunks: grid.Chunks(20000), DimensionNames: []string{"sample"}, Attributes: map[string]any{"units": "mV"}}), func(i int) float32 {
		return float32(math.Sin(float64(i)/900)*math.Exp(-float64(i)/90000)) + float32(i%97)/400
	})
	filled(t, made(t, root, "names", zarr.Spec{Shape: []int64{250}, Type: dtype.String, Chunks: grid.Chunks(100)}), func(i int) string {
		return []string{"Säntis", "Jungfraujoch", hostileText, "", "日本"}[i%5]
	})
	filled(t, made(t, root, "answer", zarr.Spec{Type: dtype.Float64, Attributes: map[string]any{"units": "m"}}), func(int) float64 { return 42.5 })
	id, err := dtype.NullTerminated(8)
	check(t, err)
	stationType, err := dtype.StructOf(dtype.Field{Name: "id", Type: id}, dtype.Field{Name: "height", Type: dtype.Float32}, dtype.Field{Name: "open", Type: dtype.Bool})
	check(t, err)
	type station struct {
		ID     string  `zarr:"id"`
		Height float32 `zarr:"height"`
		Open   bool    `zarr:"open"`
	}
	stations := made(t, root, "stations", zarr.Spec{Shape: []int64{3}, Type: stationType})
	check(t, zarr.WriteStructs(t.Context(), stations, selection.Box{{0, 2}}, []station{{"SMA", 569, true}, {"JFJ", 2691, false}}))
}

// oddities makes nodes that the page must have a face for.
func oddities(t *testing.T, root *zarr.Location, s store.Store) {
	_, err := root.At("empty").CreateGroup(t.Context(), nil, nil)
	check(t, err)
	made(t, root, "huge", zarr.Spec{Shape: []int64{1000000, 2000000}, Type: dtype.Float32, Chunks: grid.Chunks(10000, 10000), DimensionNames: []string{"y", "x"}})
	made(t, root, "nothing", zarr.Spec{Shape: []int64{0, 20}, Type: dtype.Float32, Chunks: grid.Chunks(10, 10), DimensionNames: []string{"time", "x"}})
	filled(t, made(t, root, "damaged", zarr.Spec{Shape: []int64{40, 60}, Type: dtype.Float32, Chunks: grid.Chunks(20, 20)}), func(i int) float32 { return float32(i % 60) })
	_, err = store.Write(t.Context(), s, store.Put(store.MustKey("damaged/c/1/1"), []byte("this is no zstd")), store.Sync)
	check(t, err)
	_, err = store.Write(t.Context(), s, store.Put(store.MustKey("foreign/zarr.json"), []byte(`{"zarr_format":3,"node_type":"array","shape":[20,20],"data_type":"float32","chunk_grid":{"name":"regular","configuration":{"chunk_shape":[10,10]}},"chunk_key_encoding":{"name":"default"},"fill_value":0,"codecs":[{"name":"bytes","configuration":{"endian":"little"}},{"name":"rot13"}],"attributes":{}}`)), store.Sync)
	check(t, err)
	filled(t, made(t, root, "<img src=x onerror=alert(1)>", zarr.Spec{Shape: []int64{10, 12}, Type: dtype.Float32, DimensionNames: []string{"<b>y", hostileText}, Chunks: grid.Chunks(10, 12),
		Attributes: map[string]any{"long_name": hostileText, "units": hostileText, hostileText: []any{hostileText, map[string]any{hostileText: 1}}}}), func(i int) float32 { return float32(i) })
}
