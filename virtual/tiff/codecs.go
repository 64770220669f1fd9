// SPDX-License-Identifier: Apache-2.0

package tiff

import (
	"encoding/binary"

	"varve.dev/zarr/codec/bytescodec"
	"varve.dev/zarr/codec/numcodecs"
	"varve.dev/zarr/codec/zstd"
	"varve.dev/zarr/dtype"
	"varve.dev/zarr/metadata"
	"varve.dev/zarr/virtual/scan"
)

// schemes name the compressions that no codec decodes (section "Compression" and the
// registry of libtiff).
var schemes = map[int64]string{
	2: "CCITT RLE", 3: "CCITT Group 3", 4: "CCITT Group 4", 5: "LZW", 6: "old JPEG", 7: "JPEG", 9: "JBIG", 10: "JBIG",
	32766: "NeXT RLE", 32771: "CCITT RLE", 32773: "PackBits", 32809: "ThunderScan RLE", 32908: "Pixar film",
	32909: "Pixar log", 32947: "DCS", 33003: "JPEG 2000", 33005: "JPEG 2000", 34661: "JBIG", 34676: "SGI Log",
	34677: "SGI Log", 34712: "JPEG 2000", 34887: "LERC", 34892: "lossy JPEG", 50001: "WebP", 50002: "JPEG XL", 52546: "JPEG XL",
}

// codecs returns the codecs of an image whose array has a type and the shape of chunks.
func (r *reader) codecs(d *ifd, a *scan.Array) ([]metadata.Extension, error) {
	list, err := r.predictor(d, a)
	if err != nil {
		return nil, err
	}
	list = append(list, r.serial(a.Type))
	n, err := r.number(d, compression, 1)
	if err != nil {
		return nil, err
	}
	const effort = 6 // of writing, which readers ignore
	switch n {
	case 1:
		return list, nil
	case 8, 32946: // Adobe's Deflate, and the number before it was registered
		return append(list, numcodecs.Zlib(effort)), nil
	case 34925:
		return append(list, numcodecs.LZMA(effort)), nil
	case 50000:
		return append(list, zstd.Extension(0, false)), nil
	}
	name, known := schemes[n]
	if !known {
		name = "of an unknown kind"
	}
	return nil, scan.Unsupportedf("compression %d, %s, for which there is no codec", n, name)
}

// serial returns the codec that makes bytes of samples. They have the byte order of the
// file.
func (r *reader) serial(t dtype.Type) metadata.Extension {
	switch {
	case !t.Ordered():
		return bytescodec.Extension("")
	case r.order == binary.BigEndian:
		return bytescodec.Extension(bytescodec.Big)
	}
	return bytescodec.Extension(bytescodec.Little)
}

// predictor returns the codecs that undo a predictor (section 14). Differences begin
// anew in every row, so a codec for those of a whole chunk does only for chunks of one
// row and one sample.
func (r *reader) predictor(d *ifd, a *scan.Array) ([]metadata.Extension, error) {
	n, err := r.number(d, predictor, 1)
	if err != nil {
		return nil, err
	}
	scheme, err := r.number(d, compression, 1)
	if err != nil || scheme == 1 {
		return nil, err // the predictor belongs to the compression
	}
	rows := a.Chunk[0]
	if len(a.Chunk) == 3 {
		rows = a.Chunk[0] * a.Chunk[1]
	}
	switch {
	case n <= 1:
		return nil, nil
	case n == 2 && isInteger(a.Type) && rows == 1 && a.Names[len(a.Names)-1] == "x":
		return []metadata.Extension{numcodecs.Delta(a.Type, dtype.Type{})}, nil
	case n == 2:
		return nil, scan.Unsupportedf("predictor 2, horizontal differencing, in chunks of %d samples, for which there is no codec", a.Chunk)
	case n == 3:
		return nil, scan.Unsupportedf("predictor 3, of floating point, for which there is no codec")
	}
	return nil, scan.Unsupportedf("predictor %d", n)
}

func isInteger(t dtype.Type) bool { return t.Kind() == dtype.Int || t.Kind() == dtype.Uint }
