package frameworks

import (
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"github.com/gin-gonic/gin"

	"github.com/uidring/uidring"
)

// Without the parser, gin reads the number itself, and takes -5 and 007 for IDs.
func TestGin(t *testing.T) {
	gin.SetMode(gin.TestMode)
	engine := gin.New()
	engine.PUT("/orders/:id", func(c *gin.Context) {
		var key struct {
			ID uidring.ID `uri:"id,parser=encoding.TextUnmarshaler"`
		}
		var body struct {
			Replaces *uidring.ID `json:"replaces"`
		}
		for _, err := range []error{c.ShouldBindUri(&key), c.ShouldBindJSON(&body)} {
			if err != nil {
				c.JSON(http.StatusBadRequest, gin.H{"error": err.Error()})
				return
			}
		}
		c.JSON(http.StatusOK, gin.H{"id": key.ID, "replaces": body.Replaces})
	})
	for _, row := range []struct {
		id, body string
		code     int
		want     string
	}{
		{"176636547297255431", `{}`, http.StatusOK, `{"id":"176636547297255431","replaces":null}`},
		{"7", `{"replaces":"176636547297255431"}`, http.StatusOK, `{"id":"7","replaces":"176636547297255431"}`},
		{"007", `{}`, http.StatusBadRequest, "uidring: malformed ID"},
		{"-5", `{}`, http.StatusBadRequest, "uidring: "},
		{"7", `{"replaces":1.5}`, http.StatusBadRequest, "uidring: malformed ID"},
	} {
		w := httptest.NewRecorder()
		engine.ServeHTTP(w, httptest.NewRequestWithContext(t.Context(), "PUT", "/orders/"+row.id, strings.NewReader(row.body)))
		if got := w.Body.String(); w.Code != row.code || !strings.Contains(got, row.want) {
			t.Errorf("%s %s: %d %s, want %d %s", row.id, row.body, w.Code, got, row.code, row.want)
		}
	}
}
