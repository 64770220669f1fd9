// SPDX-License-Identifier: Apache-2.0

package parquet

import (
	"bytes"
	"encoding/base64"
	"errors"
	"fmt"
	"strings"

	"varve.dev/zarr/columnar"
	"varve.dev/zarr/internal/kerchunk"
	"varve.dev/zarr/virtual/scan"

	// So that the package is all that a program has to import.
	_ "varve.dev/zarr/virtual"
)

func init() { kerchunk.RegisterParquet(Format{}) }

// Format reads and writes files of records. It is a [kerchunk.RecordFormat].
type Format struct{}

// Decode implements [kerchunk.RecordFormat]. The memory for pages and records is bounded
// by l.Generated: a half for each of them.
func (Format) Decode(file []byte, most int, l kerchunk.Limits) (*kerchunk.Records, error) {
	r, err := decode(file, most, l)
	if err != nil {
		return nil, fmt.Errorf("parquet: %w", ofScan(err))
	}
	return r, nil
}

// Append implements [kerchunk.RecordFormat].
func (Format) Append(dst []byte, r *kerchunk.Records) ([]byte, error) {
	out, err := appendFile(dst, r)
	if err != nil {
		return dst, fmt.Errorf("parquet: %w", ofScan(err))
	}
	return out, nil
}

// ofScan returns an error of package columnar as one of package scan.
func ofScan(err error) error {
	text := strings.TrimPrefix(err.Error(), "parquet: ")
	switch {
	case errors.Is(err, columnar.ErrCorrupt):
		return scan.Corruptf("%s", text)
	case errors.Is(err, columnar.ErrUnsupported):
		return scan.Unsupportedf("%s", text)
	}
	return err
}

// encoded begins a value that is base64. Fsspec decodes it in files of records as in
// JSON, so a value that begins like this has to be encoded.
const encoded = "base64:"

// unwrapped returns the value that a text of the column raw stands for. It does not share
// the memory of text.
func unwrapped(text []byte) ([]byte, error) {
	rest, ok := bytes.CutPrefix(text, []byte(encoded))
	if !ok {
		return append([]byte{}, text...), nil
	}
	data, err := base64.StdEncoding.AppendDecode([]byte{}, rest)
	if err != nil {
		return nil, scan.Corruptf("%v", err)
	}
	return data, nil
}

// wrapped is the inverse of unwrapped. It may share the memory of data.
func wrapped(data []byte) []byte {
	if !bytes.HasPrefix(data, []byte(encoded)) {
		return data
	}
	return base64.StdEncoding.AppendEncode([]byte(encoded), data)
}
