"""The churn trial: clients with very many filters come and vanish beside a prober."""
