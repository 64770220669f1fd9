// SPDX-License-Identifier: Apache-2.0

package main

// The command also has the codecs that need more libraries: LZMA, and writing bzip2.
import _ "varve.dev/zarr/codec/extra"
