/** @import { Texts } from "../../types.d.ts" */

/** @type {Texts<typeof import("./texts.en.js").en>} */
export const it = {
  title: "Panoramica", services: "Servizi", up: "Attivo", down: "Non risponde",
  downHint: (name = "") => `${name} non risponde. Guarda il suo log nella cartella della suite, o esegui questo:`,
  unread: "Non lette", dead: "Push abbandonati", accepted: "Accettati da APNs, 24 h", rejected: "Rifiutati o abbandonati, 24 h",
  latency: "Mediana fino alla risposta di APNs", pushes: "Push per ora", hour: "Ora", count: "Accettati", failedCount: "Falliti",
  none: "Nessun push nelle ultime 24 ore.", toInbox: "Apri le notifiche", toTrace: "Scopri perché",
  start: "Primi passi", startText: "Ogni passo è spuntato appena è fatto.",
  steps: {
    bucket: "Crea un bucket", publish: "Pubblica una notifica", device: "Registra un dispositivo", trace: "Guarda il risultato",
  },
  done: "Fatto", open: "Da fare",
  devicesHint: "Un’app registra il suo token da sola quando viene aperta; questo lo fa a mano.",
  keys: { title: "Chiavi API", id: "Id", principal: "Identità", scopes: "Permessi", used: "Ultimo uso", description: "Descrizione", all: "Tutte le chiavi" },
};
