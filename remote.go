package zarr

import (
	"varve.dev/zarr/store"
	"varve.dev/zarr/store/http"
)

func init() {
	store.Register("http", http.OpenLocation)
	store.Register("https", http.OpenLocation)
}
