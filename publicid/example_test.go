package publicid_test

import (
	"database/sql/driver"
	"encoding/json"
	"fmt"
	"net/http"
	"net/http/httptest"

	"github.com/uidring/uidring"
	"github.com/uidring/uidring/publicid"
)

// orders masks order IDs. A program reads its keys from the environment or a store of secrets.
var orders, _ = publicid.New("order", "1:000102030405060708090a0b0c0d0e0f")

// An OrderID is the ID in SQL, and its face in JSON, URLs and texts.
type OrderID uidring.ID

func (id OrderID) String() string { return orders.Text(uidring.ID(id)) }

func (id OrderID) MarshalText() ([]byte, error) { return []byte(id.String()), nil }

func (id *OrderID) UnmarshalText(text []byte) error {
	parsed, err := orders.Parse(string(text))
	*id = OrderID(parsed)
	return err
}

func Example() {
	for id := range uidring.ID(3) {
		fmt.Println(orders.Text(176636547297255431 + id))
	}
	fmt.Println(orders.Parse("order_10J2MZXHVGK34W"))
	_, err := orders.Parse("user_15BBK41F5TZDX6")
	fmt.Println(err)
	// Output:
	// order_10J2MZXHVGK34W
	// order_144ZC12YNF5DWQ
	// order_1742Z8BK5D5NCY
	// 176636547297255431 <nil>
	// uidring: malformed ID: order "user_15BBK41F5TZDX6": another kind, allowed: order_, a key number (1) and 13 characters of 0-9 and A-Z but U
}

// A handler of net/http that finds a row by its face, and answers with JSON.
func ExampleMasker() {
	mux := http.NewServeMux()
	mux.HandleFunc("GET /orders/{id}", func(w http.ResponseWriter, r *http.Request) {
		var order struct{ ID OrderID }
		if err := order.ID.UnmarshalText([]byte(r.PathValue("id"))); err != nil {
			http.Error(w, "no such order", http.StatusNotFound)
			return
		}
		// database/sql stores and scans an OrderID, whose kind is int64, as a BIGINT.
		column, err := driver.DefaultParameterConverter.ConvertValue(order.ID)
		fmt.Println("SELECT … WHERE id =", column, err)
		_ = json.NewEncoder(w).Encode(order)
	})
	for _, face := range []string{"order_10J2MZXHVGK34W", "176636547297255431"} {
		w := httptest.NewRecorder()
		mux.ServeHTTP(w, httptest.NewRequest("GET", "/orders/"+face, nil))
		fmt.Print(w.Code, " ", w.Body)
	}
	// Output:
	// SELECT … WHERE id = 176636547297255431 <nil>
	// 200 {"ID":"order_10J2MZXHVGK34W"}
	// 404 no such order
}

// Texts with a kind that sort like their IDs, and hide nothing.
func ExampleNewUnmasked() {
	orders, err := publicid.NewUnmasked("order")
	fmt.Println(orders.Text(176636547297255431), err)
	fmt.Println(orders.Parse("order_0000000000009"))
	// Output:
	// order_04WWA04002807 <nil>
	// 9 <nil>
}

// The low three bits select one of eight ranges.
func ExampleScatter() {
	for id := range uidring.ID(3) {
		key := publicid.Scatter(176636547297255431+id, 3)
		fmt.Println(key, key>>60, publicid.Gather(key, 3))
	}
	// Output:
	// 8092530100660085760 7 176636547297255431
	// 22079568412156929 0 176636547297255432
	// 1175001073019003905 1 176636547297255433
}
