// SPDX-License-Identifier: Apache-2.0

package tiff

import (
	"encoding/binary"

	"varve.dev/zarr/codec"
	"varve.dev/zarr/dtype"
	"varve.dev/zarr/internal/codecs/imagecodecs"
	"varve.dev/zarr/internal/codecs/numcodecs"
	"varve.dev/zarr/metadata"
	"varve.dev/zarr/virtual/scan"
)

// schemes name the compressions that no codec decodes (section "Compression" and the
// registry of libtiff).
var schemes = map[int64]string{
	2: "CCITT RLE", 3: "CCITT Group 3", 4: "CCITT Group 4", 6: "old JPEG", 7: "JPEG", 9: "JBIG", 10: "JBIG",
	32766: "NeXT RLE", 32771: "CCITT RLE", 32809: "ThunderScan RLE", 32908: "Pixar film",
	32909: "Pixar log", 32947: "DCS", 33003: "JPEG 2000", 33005: "JPEG 2000", 34661: "JBIG", 34676: "SGI Log",
	34677: "SGI Log", 34712: "JPEG 2000", 34887: "LERC", 34892: "lossy JPEG", 50001: "WebP", 50002: "JPEG XL", 52546: "JPEG XL",
}

// codecs returns the codecs of an image whose array has a type and the shape of chunks.
func (r *reader) codecs(d *ifd, a *scan.Array) ([]metadata.Extension, error) {
	n, err := r.number(d, compression, 1)
	if err != nil {
		return nil, err
	}
	const effort = 6 // of writing, which readers ignore
	switch n {
	case 1:
		return []metadata.Extension{r.serial(a.Type)}, nil
	case 32773:
		return []metadata.Extension{r.serial(a.Type), imagecodecs.PackBits()}, nil
	case 5:
		return r.predicted(d, a, imagecodecs.LZW())
	case 8, 32946: // Adobe's Deflate, and the number before it was registered
		return r.predicted(d, a, numcodecs.Zlib(effort))
	case 34925:
		return r.predicted(d, a, numcodecs.LZMA(effort))
	case 50000:
		return r.predicted(d, a, codec.ZstdChecksum(0, false))
	}
	name, known := schemes[n]
	if !known {
		name = "of an unknown kind"
	}
	return nil, scan.Unsupportedf("compression %d, %s, for which there is no codec; %s", n, name, imagecodecs.Remedy)
}

// serial returns the codec that makes bytes of samples. They have the byte order of the
// file.
func (r *reader) serial(t dtype.Type) metadata.Extension {
	switch {
	case !t.Ordered():
		return codec.Bytes("")
	case r.order == binary.BigEndian:
		return codec.Bytes(codec.Big)
	}
	return codec.Bytes(codec.Little)
}

// predicted returns a compressor and the codecs before it. The predictor belongs to the
// compression: only these have one (section 14).
func (r *reader) predicted(d *ifd, a *scan.Array, compressor metadata.Extension) ([]metadata.Extension, error) {
	n, err := r.number(d, predictor, 1)
	if err != nil {
		return nil, err
	}
	// Differences are those of one sample along a row.
	axis := -1
	if a.Names[len(a.Names)-1] == "band" {
		axis = -2
	}
	switch {
	case n <= 1:
		return []metadata.Extension{r.serial(a.Type), compressor}, nil
	case n == 2 && isReal(a.Type):
		return []metadata.Extension{imagecodecs.Delta(axis), r.serial(a.Type), compressor}, nil
	case n == 2:
		return nil, scan.Unsupportedf("predictor 2, horizontal differencing, of %s samples; %s", a.Type, imagecodecs.Remedy)
	case n == 3 && a.Type.Kind() == dtype.KindFloat:
		return []metadata.Extension{imagecodecs.FloatPredictor(a.Type, axis, whole(a)), codec.Bytes(codec.Little), compressor}, nil
	case n == 3:
		return nil, scan.Unsupportedf("predictor 3, of floating point, with %s samples", a.Type)
	}
	return nil, scan.Unsupportedf("predictor %d, for which there is no codec; %s", n, imagecodecs.Remedy)
}

// whole returns the shape that all chunks have, nil if the last ones may be short.
func whole(a *scan.Array) []int64 {
	if a.Short {
		return nil
	}
	return a.Chunk
}

// isReal reports whether samples are integers or floats. libtiff subtracts the bits of
// floats, too.
func isReal(t dtype.Type) bool {
	return t.Kind() == dtype.KindInt || t.Kind() == dtype.KindUint || t.Kind() == dtype.KindFloat
}
