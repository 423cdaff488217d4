// Package recipes has the programs of docs/RECIPES.md.
package recipes

import (
	"context"
	"encoding/json"
	"net/http"

	"github.com/jmoiron/sqlx"

	"github.com/uidring/uidring"
)

// An Order is a row of sqlx, and the body of a request and a response.
type Order struct {
	ID       uidring.ID  `db:"id" json:"id"`
	Replaces *uidring.ID `db:"replaces" json:"replaces"` // null in JSON, NULL in SQL
}

// A Shop serves HTTP. A generator of any package fits its field ids.
type Shop struct {
	db  *sqlx.DB
	ids interface {
		NextContext(context.Context) (int64, error)
	}
}

// add gives an order its ID, and writes it.
func (s *Shop) add(ctx context.Context, order *Order) error {
	id, err := s.ids.NextContext(ctx)
	if err != nil {
		return err
	}
	order.ID = uidring.ID(id)
	_, err = s.db.NamedExecContext(ctx, "INSERT INTO orders (id, replaces) VALUES (:id, :replaces)", order)
	return err
}

func (s *Shop) create(w http.ResponseWriter, r *http.Request) {
	var order Order
	if err := json.NewDecoder(r.Body).Decode(&order); err != nil {
		http.Error(w, err.Error(), http.StatusBadRequest)
		return
	}
	if err := s.add(r.Context(), &order); err != nil {
		http.Error(w, err.Error(), http.StatusServiceUnavailable)
		return
	}
	w.WriteHeader(http.StatusCreated)
	_ = json.NewEncoder(w).Encode(order)
}

func (s *Shop) show(w http.ResponseWriter, r *http.Request) {
	id, err := uidring.Parse(r.PathValue("id"))
	if err != nil {
		http.Error(w, err.Error(), http.StatusBadRequest)
		return
	}
	order, err := s.find(r.Context(), id)
	if err != nil {
		http.Error(w, "no such order", http.StatusNotFound)
		return
	}
	_ = json.NewEncoder(w).Encode(order)
}

func (s *Shop) find(ctx context.Context, id uidring.ID) (order Order, err error) {
	err = s.db.GetContext(ctx, &order, "SELECT id, replaces FROM orders WHERE id = ?", id)
	return order, err
}

func (s *Shop) routes() http.Handler {
	mux := http.NewServeMux()
	mux.HandleFunc("POST /orders", s.create)
	mux.HandleFunc("GET /orders/{id}", s.show)
	return mux
}
