package main

// What programs do without unless they say so: the command writes bzip2 and LZMA, too.
import _ "varve.dev/zarr/codec/extra"
