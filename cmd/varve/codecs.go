// SPDX-License-Identifier: Apache-2.0

package main

// What programs do without unless they say so: the command has LZMA, and writes bzip2,
// too.
import _ "varve.dev/zarr/codec/extra"
