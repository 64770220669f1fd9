// SPDX-License-Identifier: Apache-2.0

package scan

import (
	"varve.dev/zarr/dtype"
	"varve.dev/zarr/metadata"
)

// Plain returns the codec of chunks that hold their elements one after the other, with
// the most significant byte of numbers first or last.
func Plain(t dtype.Type, bigEndian bool) metadata.Extension {
	switch {
	case !t.Ordered():
		return metadata.Extension{Name: "bytes"}
	case bigEndian:
		return metadata.Extension{Name: "bytes", Configuration: []byte(`{"endian":"big"}`)}
	}
	return metadata.Extension{Name: "bytes", Configuration: []byte(`{"endian":"little"}`)}
}
