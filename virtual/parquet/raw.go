// SPDX-License-Identifier: Apache-2.0

package parquet

import (
	"bytes"
	"encoding/base64"

	"varve.dev/zarr/virtual/scan"
)

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
